import { describe, expect, test } from "bun:test";
import type { GenerationEvent } from "../../../../../src/core/ports/chat-engine.ts";
import { ContentBlocks, toEnd } from "../../../../../src/server/operations/messages/answer.ts";
import type { Thoughts } from "../../../../../src/server/operations/messages/request.ts";
import { finish } from "../../../../support/scripted-engines.ts";

const text = (value: string): GenerationEvent => ({ type: "text", text: value });
const thought = (value: string): GenerationEvent => ({ type: "reasoning", text: value });
const call = (index: number): GenerationEvent => ({
  type: "tool-call",
  index,
  id: `call_${index}`,
  name: "look",
});
const args = (index: number, value: string): GenerationEvent => ({
  type: "tool-arguments",
  index,
  text: value,
});

function eventsOf(events: readonly GenerationEvent[], thoughts: Thoughts = "shown") {
  const blocks = new ContentBlocks(thoughts);
  return [...events, finish].flatMap((event) => blocks.take(event));
}

function wholeOf(events: readonly GenerationEvent[], end = {}, thoughts: Thoughts = "shown") {
  const blocks = new ContentBlocks(thoughts);
  for (const event of [...events, { ...finish, ...end }]) blocks.take(event);
  return blocks.whole().content;
}

/** Of `Hmm`, by SHA-256. */
const signature = new Bun.CryptoHasher("sha256").update("Hmm").digest("base64url");

describe("content blocks", () => {
  test("are opened and closed one after the other, in the order of what is written", () => {
    expect(
      eventsOf([thought("H"), thought("mm"), text("A"), call(0), args(0, "{"), args(0, "}")]),
    ).toEqual([
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "thinking", thinking: "", signature: "" },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "thinking_delta", thinking: "H" },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "thinking_delta", thinking: "mm" },
      },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature } },
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "text", text: "" },
      },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "A" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: {
          type: "tool_use",
          id: "call_0",
          name: "look",
          input: {},
          caller: { type: "direct" },
        },
      },
      {
        type: "content_block_delta",
        index: 2,
        delta: { type: "input_json_delta", partial_json: "{" },
      },
      {
        type: "content_block_delta",
        index: 2,
        delta: { type: "input_json_delta", partial_json: "}" },
      },
      { type: "content_block_stop", index: 2 },
    ]);
  });

  test("are none where nothing is written", () => {
    expect(eventsOf([])).toEqual([]);
  });

  test("add up to the whole content", () => {
    const tool = { type: "tool_use", name: "look", caller: { type: "direct" } } as const;
    expect(
      wholeOf([
        thought("Hmm"),
        text("A"),
        text("B"),
        call(0),
        args(0, '{"at":'),
        args(0, '"sky"}'),
        call(1),
      ]),
    ).toEqual([
      { type: "thinking", thinking: "Hmm", signature },
      { type: "text", text: "AB" },
      { ...tool, id: "call_0", input: { at: "sky" } },
      { ...tool, id: "call_1", input: {} },
    ]);
  });

  test("show thoughts, leave out their text, or leave them out", () => {
    const written = [thought("Hmm"), text("A")];
    const answer = { type: "text", text: "A" } as const;
    expect(wholeOf(written, {}, "omitted")).toEqual([
      { type: "thinking", thinking: "", signature },
      answer,
    ]);
    expect(wholeOf(written, {}, "hidden")).toEqual([answer]);
  });

  test("of a call that was cut short have an empty input", () => {
    expect(wholeOf([call(0), args(0, '{"at":')], { reason: "length" })).toMatchObject([
      { input: {} },
    ]);
  });

  test("of a call that is no JSON are a failure of who wrote it", () => {
    expect(() => wholeOf([call(0), args(0, "at sky")])).toThrow(
      "called the tool 'look' with what is not JSON",
    );
  });

  test.each([
    ["nested deeper than a request may be", `${"[".repeat(300)}${"]".repeat(300)}`],
    ["of more values than a request may have", `[${"1,".repeat(600_000)}1]`],
  ])("of calls %s are a failure of who wrote them", (_, json) => {
    // A call of a length that is allowed, and one that is too long together with it.
    const half = `[${"1,".repeat(500_000)}1]`;
    expect(() => wholeOf([call(0), args(0, half), call(1), args(1, json)])).toThrow(
      "called the tool 'look' with arguments that are nested too deep or hold too much",
    );
    const end = { reason: "length" } as const;
    expect(wholeOf([call(0), args(0, half), call(1), args(1, json)], end)[1]).toMatchObject({
      input: {},
    });
  });

  test("of calls that are written into each other are a failure of who wrote them", () => {
    expect(() => eventsOf([call(0), call(1), args(0, "{}")])).toThrow(
      "mixed the arguments of two tool calls",
    );
  });
});

const bounds = { stops: ["END"], maxTokens: 10, contextSize: 20 };
const none = { stop_sequence: null, stop_details: null, container: null };
const used = (promptTokens: number, completionTokens: number) => ({
  usage: { ...finish.usage, promptTokens, completionTokens },
});

test.each([
  ["by itself", {}, "end_turn"],
  ["at a text that is not the caller's", { stop: "[1]" }, "end_turn"],
  ["with calls", { reason: "tool_calls" }, "tool_use"],
  ["at its most tokens", { reason: "length", ...used(5, 10) }, "max_tokens"],
  ["at its most tokens and the context's", { reason: "length", ...used(10, 10) }, "max_tokens"],
  ["before a call that has no room", { reason: "length", ...used(5, 8) }, "max_tokens"],
  [
    "where the context is full",
    { reason: "length", ...used(15, 5) },
    "model_context_window_exceeded",
  ],
] as const)("an answer that ends %s", (_, more, reason) => {
  expect(toEnd({ ...finish, ...more }, bounds)).toEqual({ ...none, stop_reason: reason });
});

test("an answer that ends at a stop sequence names it", () => {
  expect(toEnd({ ...finish, stop: "END" }, bounds)).toEqual({
    ...none,
    stop_reason: "stop_sequence",
    stop_sequence: "END",
  });
});

test("an answer that is filtered is a refusal", () => {
  expect(toEnd({ ...finish, reason: "content_filter" }, bounds)).toEqual({
    ...none,
    stop_reason: "refusal",
    stop_details: { type: "refusal", category: null, explanation: null },
  });
});
