/** The clock of the machine jumps, by hours and by years, while a node answers. */
import { afterAll, afterEach, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import OpenAI, { toFile } from "openai";
import { frames, readFrames } from "../support/sse.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
beforeAll(async () => {
  node = await tinyNode({ env: { PADDOCK_REQUEST_TIMEOUT: "60" } });
});
afterAll(() => node[Symbol.asyncDispose]());
afterEach(() => void setSystemTime());

const hour = 3_600_000;
const body = (tokens: number) => ({
  model: "tiny-chat",
  stream: true,
  max_tokens: tokens,
  logit_bias: { "2": -100 },
  messages: [{ role: "user", content: "What time is it?" }],
});

describe("a clock that jumps", () => {
  test("ten years ahead deletes no file, vector store or response that would expire by then", async () => {
    const client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any", maxRetries: 0 });
    const upload = async (expires: object): Promise<string> => {
      const file = await toFile(Buffer.from("Llamas hum."), "llamas.txt");
      return (await client.files.create({ file, purpose: "assistants", ...expires })).id;
    };
    const file = await upload({ expires_after: { anchor: "created_at", seconds: 3600 } });
    const store = await client.vectorStores.create({
      expires_after: { anchor: "last_active_at", days: 1 },
    });
    const response = await client.responses.create({
      model: "tiny-chat",
      input: "What time is it?",
      max_output_tokens: 5,
    });
    setSystemTime(Date.now() + 10 * 365 * 24 * hour);
    // What is due is looked for before each file.
    for (const file_id of [await upload({}), await upload({})]) {
      await client.vectorStores.files.createAndPoll(store.id, { file_id });
    }
    expect((await client.files.retrieve(file)).id).toBe(file);
    expect((await client.vectorStores.retrieve(store.id)).status).toBe("completed");
    expect((await client.responses.retrieve(response.id)).id).toBe(response.id);
  });

  test("back by months, and right again, deletes nothing that was made meanwhile", async () => {
    const client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any", maxRetries: 0 });
    const upload = async (expires: object): Promise<string> => {
      const file = await toFile(Buffer.from("Llamas hum."), "llamas.txt");
      return (await client.files.create({ file, purpose: "assistants", ...expires })).id;
    };
    setSystemTime(Date.now() - 100 * 24 * hour);
    const file = await upload({ expires_after: { anchor: "created_at", seconds: 3600 } });
    const store = await client.vectorStores.create({
      expires_after: { anchor: "last_active_at", days: 1 },
    });
    const response = await client.responses.create({
      model: "tiny-chat",
      input: "What time is it?",
      max_output_tokens: 5,
    });
    const conversation = await client.conversations.create({});
    await client.conversations.update(conversation.id, { metadata: { changed: "yes" } });
    setSystemTime();
    for (const file_id of [await upload({}), await upload({})]) {
      await client.vectorStores.files.createAndPoll(store.id, { file_id });
    }
    expect((await client.files.retrieve(file)).id).toBe(file);
    expect((await client.vectorStores.retrieve(store.id)).status).toBe("completed");
    expect((await client.responses.retrieve(response.id)).id).toBe(response.id);
    expect((await client.conversations.retrieve(conversation.id)).id).toBe(conversation.id);
  });

  test.each([
    ["an hour ahead", hour],
    ["an hour back", -hour],
    ["ten years ahead", 10 * 365 * 24 * hour],
    ["to before 1980", -50 * 365 * 24 * hour],
  ])("%s ends no answer and opens no gate", async (_, jump) => {
    const post = (tokens: number): Promise<Response> =>
      fetch(`${node.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body(tokens)),
      });
    const running = frames(await post(400));
    await running.next();
    setSystemTime(Date.now() + jump);
    // Who was being answered, who comes after, and whoever watches.
    expect((await Array.fromAsync(running)).at(-1)).toBe("[DONE]");
    expect((await readFrames(await post(5))).at(-1)).toBe("[DONE]");
    expect((await node.app.handle(new Request("http://localhost/ready"))).status).toBe(200);
  });

  test("a day ahead and back gives nobody more requests, and nobody less", async () => {
    const jumps = { "a-day-ahead": 24 * hour, "a-day-back": -24 * hour };
    await using limited = await tinyNode({
      env: {
        PADDOCK_DEFAULT_REQUESTS_PER_MINUTE: "3",
        PADDOCK_API_KEYS: Object.keys(jumps).join(),
      },
    });
    for (const [key, jump] of Object.entries(jumps)) {
      const ask = async (): Promise<number> => {
        const response = await fetch(`${limited.baseUrl}/embeddings`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
          body: JSON.stringify({ model: "tiny-embedding", input: "now" }),
        });
        return response.status;
      };
      expect([key, await ask(), await ask()]).toEqual([key, 200, 200]);
      setSystemTime(Date.now() + jump);
      expect([key, await ask(), await ask()]).toEqual([key, 200, 429]);
      setSystemTime();
    }
  });
});
