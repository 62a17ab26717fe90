import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, {
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  RateLimitError,
} from "openai";
import { nodesForClients } from "../support/front-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import { type TinyNode, tinyNode } from "../support/tiny-node.ts";

const key = "a-key-of-the-test";
let node: TinyNode;
let client: OpenAI;

function connect(start: typeof tinyNode): void {
  beforeAll(async () => {
    node = await start({ env: { PADDOCK_API_KEYS: `${key},another-key` } });
    client = new OpenAI({ baseURL: node.baseUrl, apiKey: key });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });
}

const question = {
  model: "tiny-chat",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hello" },
  ],
  temperature: 0,
  max_tokens: 8,
} satisfies Partial<OpenAI.ChatCompletionCreateParams>;

describe.each(nodesForClients)("the openai package against %s", (_, start) => {
  connect(start);

  test("chats", async () => {
    const answer = await client.chat.completions.create(question);
    expect(answer.object).toBe("chat.completion");
    expect(answer.choices[0]?.message.role).toBe("assistant");
    expect(answer.usage?.completion_tokens).toBeLessThanOrEqual(8);
    expect(answer._request_id).toMatch(/^req_/);
  });

  test("streams the same answer that it gets whole", async () => {
    const whole = await client.chat.completions.create(question);
    const stream = await client.chat.completions.create({
      ...question,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(text).toBe(whole.choices[0]?.message.content ?? "?");
    expect(chunks.at(-1)).toMatchObject({ usage: whole.usage });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test("accumulates a stream with its own helper", async () => {
    const stream = client.chat.completions.stream(question);
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.role).toBe("assistant");
    expect(["stop", "length"]).toContain(final.choices[0]?.finish_reason ?? "none");
  });

  test("leaves a stream in the middle, and the node goes on", async () => {
    const stream = await client.chat.completions.create({
      ...question,
      max_tokens: 200,
      stream: true,
    });
    for await (const _ of stream) break;
    const controller = new AbortController();
    const aborted = client.chat.completions.create(
      { ...question, max_tokens: 200 },
      { signal: controller.signal },
    );
    controller.abort();
    expect(await rejectionOf(aborted)).toBeInstanceOf(APIUserAbortError);
    const next = await client.chat.completions.create(question);
    expect(next.choices).toHaveLength(1);
  });

  test("embeds in both encodings, with the same numbers", async () => {
    const input = ["hello", "good bye"];
    const model = "tiny-embedding";
    const floats = await client.embeddings.create({ model, input, encoding_format: "float" });
    const decoded = await client.embeddings.create({ model, input }); // base64 on the wire
    expect(floats.data.map(({ index }) => index)).toEqual([0, 1]);
    expect(floats.data[0]?.embedding).toHaveLength(32);
    for (const [index, { embedding }] of decoded.data.entries()) {
      expect(Float32Array.from(embedding)).toEqual(
        Float32Array.from(floats.data[index]?.embedding ?? []),
      );
    }
  });

  test("lists the models, and finds one", async () => {
    const models = await Array.fromAsync(client.models.list());
    expect(models.map(({ id }) => id)).toEqual(["tiny-chat", "tiny-embedding"]);
    expect(await client.models.retrieve("tiny-chat")).toMatchObject({ object: "model" });
  });

  test("gets errors as its own classes, with the field at fault", async () => {
    expect(
      await rejectionOf(client.chat.completions.create({ ...question, temperature: 9 })),
    ).toMatchObject({
      constructor: BadRequestError,
      param: "temperature",
    });
    expect(
      await rejectionOf(client.chat.completions.create({ ...question, model: "nobody" })),
    ).toMatchObject({ constructor: InternalServerError, code: "model_not_found" });
    const stranger = new OpenAI({ baseURL: node.baseUrl, apiKey: "not-a-known-key" });
    expect(await rejectionOf(stranger.chat.completions.create(question))).toBeInstanceOf(
      AuthenticationError,
    );
  });

  test("does not ask again for a model that is not there", async () => {
    let requests = 0;
    const counting = new OpenAI({
      baseURL: node.baseUrl,
      apiKey: key,
      fetch: (url, init) => {
        requests++;
        return fetch(url, init);
      },
    });
    await counting.chat.completions.create({ ...question, model: "nobody" }).catch(() => {});
    expect(requests).toBe(1);
  });
});

test("the openai package knows a limit by its error, and asks again when it is told to", async () => {
  await using limited = await tinyNode({ env: { PADDOCK_DEFAULT_REQUESTS_PER_MINUTE: "60" } });
  const impatient = new OpenAI({ baseURL: limited.baseUrl, apiKey: "none", maxRetries: 0 });
  const embed = (asking: OpenAI) =>
    asking.embeddings.create({ model: "tiny-embedding", input: "a" });
  const refused = await rejectionOf(
    (async () => {
      for (;;) await embed(impatient);
    })(),
  );
  expect(refused).toBeInstanceOf(RateLimitError);
  expect(refused).toMatchObject({ status: 429, type: "requests", code: "rate_limit_exceeded" });
  const patient = new OpenAI({ baseURL: limited.baseUrl, apiKey: "none", maxRetries: 2 });
  expect((await embed(patient)).data).toHaveLength(1);
});
