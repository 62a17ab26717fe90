import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Scope } from "../../src/core/limits/api-key.ts";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { SqliteKeys } from "../../src/store/keys/sqlite-keys.ts";
import { decode, decodeError } from "../support/decode.ts";
import { passage } from "../support/passages.ts";
import { readEvents } from "../support/response-events.ts";
import { finish } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";
import { type TestApp, type TestAppOptions, testApp } from "../support/test-app.ts";

const path = "/v1/responses";
const search = { type: "file_search", vector_store_ids: ["vs_default"] };
const body = { model: "chatty", input: "q", tools: [search] };
const said = { type: "text", text: "They hum [1], and bloom [2]." } as const;

async function filledApp(options: TestAppOptions = {}): Promise<TestApp> {
  const app = testApp(options);
  await app.repository.upsert([
    passage(1, [1, 1], { source: "Llamas hum.", document: "animals.md" }),
    passage(2, [1.1, 1], { source: "Roses bloom.", document: "" }),
  ]);
  return app;
}

describe("the tool file_search", () => {
  test("grounds the answer, which cites the files that it names", async () => {
    const app = await filledApp();
    app.chat.script(said, finish);
    const answer = await decode(ResponseObject, await app.post(path, body));
    expect(app.chat.requests[0]?.messages[0]?.content).toContain("Llamas hum.");
    expect(app.chat.requests[0]?.toolUse).toBeUndefined();
    expect(answer.output).toEqual([
      {
        type: "file_search_call",
        id: expect.stringMatching(/^fs_[0-9a-f]{32}_0$/),
        status: "completed",
        queries: ["q"],
        results: null,
      },
      {
        type: "message",
        id: expect.stringMatching(/^msg_[0-9a-f]{32}_1$/),
        status: "completed",
        role: "assistant",
        content: [
          {
            type: "output_text",
            text: said.text,
            annotations: [
              {
                type: "file_citation",
                file_id: expect.stringMatching(/^file-doc-/),
                filename: "animals.md",
                index: 9,
              },
            ],
          },
        ],
      },
    ]);
    expect(answer.retrieval?.points).toHaveLength(2);
  });

  test("has its results where they are included", async () => {
    const app = await filledApp();
    app.chat.script(said, finish);
    const include = ["file_search_call.results"];
    const { output } = await decode(ResponseObject, await app.post(path, { ...body, include }));
    expect(output[0]).toMatchObject({
      results: [
        { filename: "animals.md", text: "Llamas hum.", attributes: {}, score: expect.any(Number) },
        { text: "Roses bloom." },
      ],
    });
  });

  test("tells its search and its citations in a stream", async () => {
    const app = await filledApp();
    app.chat.script(said, finish);
    const events = await readEvents(await app.post(path, { ...body, stream: true }));
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.file_search_call.in_progress",
      "response.file_search_call.searching",
      "response.file_search_call.completed",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.annotation.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  test("has the first 1,000 citations of an answer, however many markers it has", async () => {
    const app = await filledApp();
    const marked = { type: "text", text: "[1][2, 1]".repeat(300) } as const;
    const thought = { type: "reasoning", text: "Hm." } as const;
    app.chat.script(marked, thought, marked, finish);
    const events = await readEvents(await app.post(path, { ...body, stream: true }));
    const added = events.flatMap((event) =>
      event.type === "response.output_text.annotation.added" ? [event.annotation] : [],
    );
    const end = events.at(-1);
    const output = end?.type === "response.completed" ? end.response.output : [];
    const texts = output.flatMap((item) => (item.type === "message" ? item.content : []));
    expect(texts.map(({ text, annotations }) => [text, annotations.length])).toEqual([
      [marked.text, 600],
      [marked.text, 400],
    ]);
    expect(added).toEqual(texts.flatMap(({ annotations }) => annotations));
  });

  test("is made beside functions, and not where the choice leaves it out", async () => {
    const app = await filledApp();
    const tools = [search, { type: "function", name: "look" }];
    const allowed = [{ type: "function", name: "look" }];
    const grounded = async (more: object): Promise<boolean> => {
      app.chat.script(said, finish);
      const answer = await decode(
        ResponseObject,
        await app.post(path, { ...body, tools, ...more }),
      );
      return answer.retrieval !== undefined;
    };
    expect(await grounded({})).toBe(true);
    expect(app.chat.requests[0]?.toolUse?.tools).toEqual([{ name: "look" }]);
    expect(await grounded({ tool_choice: { type: "file_search" } })).toBe(true);
    expect(await grounded({ tool_choice: "none" })).toBe(false);
    const choice = { type: "allowed_tools", mode: "auto", tools: allowed };
    expect(await grounded({ tool_choice: choice })).toBe(false);
  });

  test("is required where it is the only tool, and is made", async () => {
    const app = await filledApp();
    app.chat.script(said, finish);
    const answer = await app.post(path, { ...body, tool_choice: "required" });
    expect((await decode(ResponseObject, answer)).retrieval).toBeDefined();
  });

  test.each([
    ["tools[0].vector_store_ids", { tools: [{ type: "file_search" }] }],
    ["tools[0].vector_store_ids[0]", { tools: [{ ...search, vector_store_ids: ["nothing"] }] }],
    ["tools[1]", { tools: [search, search] }],
    ["tools[0].filters.key", { tools: [{ ...search, filters: { type: "eq", value: 1 } }] }],
    ["rag", { rag: true }],
  ])("is refused by %s", async (param, more) => {
    const app = await filledApp();
    const answer = await app.post(path, { ...body, ...more });
    expect(answer.status).toBeOneOf([400, 404]);
    expect((await decodeError(answer)).param).toBe(param);
  });

  test("wants a key that opens retrieve", async () => {
    await using folder = await tempDir();
    using keys = new SqliteKeys(join(folder.path, "keys.sqlite"));
    const app = await filledApp({ ring: keys });
    app.chat.script(finish);
    const ask = (...scopes: Scope[]): Promise<Response> => {
      const { text } = keys.create({ name: scopes.join(), scopes });
      return app.post(path, body, { authorization: `Bearer ${text}` });
    };
    expect((await ask("chat")).status).toBe(403);
    expect((await ask("chat", "retrieve")).status).toBe(200);
  });
});
