import { describe, expect, test } from "bun:test";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";

const path = "/v1/responses";
const question = { role: "user", content: "Hello" };
const refer = (id: string) => ({ type: "item_reference", id });

/** Keeps a response with this input before the question, and returns the ids of those items. */
async function kept(app: TestApp, items: readonly object[]): Promise<string[]> {
  app.chat.script(finish);
  const asked = { model: "chatty", input: [...items, question] };
  const { id } = await decode(ResponseObject, await app.post(path, asked));
  const { input } = await app.responses.responses.get(id, {});
  return input.slice(0, -1).map((item) => item.id);
}

async function refusal(app: TestApp, input: readonly object[], more: object = {}) {
  const refused = await app.post(path, { model: "chatty", input, ...more });
  expect(refused.status).toBe(400);
  return await decodeError(refused);
}

describe("references to kept items", () => {
  test("are each replaced by their item, of several responses", async () => {
    const app = testApp();
    const [first = ""] = await kept(app, [{ role: "user", content: "One" }]);
    const [second = "", third = ""] = await kept(app, [
      { role: "user", content: "Two" },
      { role: "user", content: "Three" },
    ]);
    app.chat.requests.splice(0);
    app.chat.script(finish);
    const input = [refer(third), refer(first), question, refer(second)];
    expect((await app.post(path, { model: "chatty", input })).status).toBe(200);
    expect(app.chat.requests[0]?.messages.map(({ content }) => content)).toEqual([
      ...["Three", "One", "Hello", "Two"],
    ]);
  });

  test("are refused where one is there twice, by the second's name", async () => {
    const app = testApp();
    const [id = ""] = await kept(app, [{ role: "user", content: "One" }]);
    expect(await refusal(app, [question, refer(id), refer(id)])).toMatchObject({
      param: "input[2].id",
      message: expect.stringContaining("input[1]"),
    });
  });

  test.each([false, true])(
    "are refused beyond what a body may hold: background %p",
    async (background) => {
      const app = testApp({ maxBodyBytes: 4096 });
      const large = {
        type: "reasoning",
        summary: [],
        content: [],
        encrypted_content: "x".repeat(3000),
      };
      const [first = ""] = await kept(app, [large]);
      const [second = ""] = await kept(app, [large]);
      app.chat.requests.splice(0);
      const error = await refusal(app, [question, refer(first), refer(second)], { background });
      expect(error).toMatchObject({
        param: "input[2]",
        message: expect.stringContaining("limits.max_body_bytes"),
      });
      expect(app.chat.requests).toEqual([]);
      app.chat.script(finish);
      const input = [question, refer(second)];
      expect((await app.post(path, { model: "chatty", input, background })).status).toBe(200);
    },
  );

  test("are refused where they hold more fields than a body may", async () => {
    const app = testApp({
      maxBodyBytes: 1 << 23,
      responses: { maxResponseBytes: 1 << 23, maxBytes: 1 << 26 },
    });
    const parts = Array.from({ length: 30_000 }, () => ({ type: "input_text", text: "" }));
    const [first = ""] = await kept(app, [{ role: "user", content: parts }]);
    const [second = ""] = await kept(app, [{ role: "user", content: parts }]);
    expect(await refusal(app, [question, refer(first), refer(second)])).toMatchObject({
      param: "input[2]",
      message: expect.stringContaining("too many fields"),
    });
  });

  test("are refused of more responses than are read for one request", async () => {
    const app = testApp();
    const ids = Array.from({ length: 129 }, (_, at) => `msg_${String(at).padStart(32, "0")}_0`);
    expect(await refusal(app, [question, ...ids.map(refer)])).toMatchObject({
      param: "input[129]",
      message: expect.stringContaining("128 responses"),
    });
  });
});
