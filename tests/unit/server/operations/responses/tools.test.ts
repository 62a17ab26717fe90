import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../../../src/core/errors.ts";
import { toOfferedTools } from "../../../../../src/server/operations/responses/tools.ts";

const search = { type: "file_search" as const, vector_store_ids: ["house"] };
const look = { type: "function", name: "look" };
const jump = { type: "function", name: "jump", description: "Jumps", strict: true };
const tools = [jump, search, look];

function refusalOf(act: () => unknown): string | undefined {
  try {
    act();
  } catch (error) {
    if (error instanceof NodeError) return error.param;
  }
  return undefined;
}

describe("the tools of a request", () => {
  test("are functions with their places, and a search apart", () => {
    expect(toOfferedTools({ tools })).toEqual({
      toolUse: {
        tools: [{ name: "jump", description: "Jumps" }, { name: "look" }],
        choice: "auto",
        parallel: true,
      },
      functions: [
        { at: "tools[0]", tool: { name: "jump", description: "Jumps" }, wire: { name: "jump" } },
        { at: "tools[2]", tool: { name: "look" }, wire: { name: "look" } },
      ],
      search: { tool: search, place: 1 },
    });
  });

  test("are none where none is offered, or none wanted", () => {
    const nothing = { toolUse: undefined, functions: [], search: undefined };
    expect(toOfferedTools({})).toEqual(nothing);
    expect(toOfferedTools({ tools: [] })).toEqual(nothing);
    expect(toOfferedTools({ tools, tool_choice: "none" })).toMatchObject({
      toolUse: undefined,
      search: undefined,
    });
  });

  test("are those that are allowed", () => {
    const choice = (mode: "auto" | "required", ...allowed: { type: string; name?: string }[]) =>
      toOfferedTools({ tools, tool_choice: { type: "allowed_tools", mode, tools: allowed } });
    expect(choice("required", look)).toMatchObject({
      toolUse: { tools: [{ name: "look" }], choice: "required" },
      functions: [{ at: "tools[2]" }],
      search: undefined,
    });
    expect(choice("required", { type: "file_search" })).toMatchObject({
      toolUse: undefined,
      search: { place: 1 },
    });
  });

  test.each([
    ["tools[0].name", { tools: [{ type: "function" }] }],
    ["tools[1].name", { tools: [look, look] }],
    ["tools[1]", { tools: [look, { type: "mcp" }], tool_choice: "required" as const }],
    ["tools[1]", { tools: [look, { type: "functoin" }] }],
    ["tools[0].name", { tools: [{ type: "namespace", tools: [] }] }],
    ["tools[0].tools", { tools: [{ type: "namespace", name: "a" }] }],
    [
      "tools[0].tools[0].name",
      { tools: [{ type: "namespace", name: "a", tools: [{ type: "function" }] }] },
    ],
    ["tools[2]", { tools: [search, look, search] }],
    ["tool_choice", { tool_choice: "required" as const }],
    ["tool_choice.name", { tools, tool_choice: { type: "function", name: "fly" } }],
    ["tool_choice.name", { tools, tool_choice: { type: "function" } }],
    ["tool_choice", { tools: [look], tool_choice: { type: "file_search" } }],
    ["tool_choice", { tools, tool_choice: { type: "shell" } }],
    ["tool_choice.mode", { tools, tool_choice: { type: "allowed_tools", tools: [look] } }],
    ["tool_choice.tools", { tools, tool_choice: { type: "allowed_tools", mode: "auto" as const } }],
    [
      "tool_choice.tools[0]",
      {
        tools,
        tool_choice: {
          type: "allowed_tools",
          mode: "auto" as const,
          tools: [{ type: "function", name: "fly" }],
        },
      },
    ],
  ])("are refused by %s: %j", (param, body) => {
    expect(refusalOf(() => toOfferedTools(body))).toBe(param);
  });
});
