import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { BadRequestError, NotFoundError } from "openai";
import { nodesForClients } from "../support/front-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import type { TinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
let client: OpenAI;

const question = {
  model: "tiny-chat",
  messages: [{ role: "user", content: "Hello" }],
  max_tokens: 4,
} satisfies OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Token ids of the tiny model. */
const [letterA, letterB] = [291, 292];

/** A format that has one answer: the text in quotes. */
const only = (text: string): OpenAI.ResponseFormatJSONSchema => ({
  type: "json_schema",
  json_schema: { name: "only", schema: { const: text } },
});

describe.each(nodesForClients)("the openai package against %s", (_, start) => {
  beforeAll(async () => {
    node = await start();
    client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any" });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });

  describe("parameters", () => {
    test("logit_bias decides what is generated, and what is not", async () => {
      const biased = async (logit_bias: Record<string, number>): Promise<string | null> => {
        const { choices } = await client.chat.completions.create({ ...question, logit_bias });
        return choices[0]?.message.content ?? null;
      };
      expect(await biased({ [letterA]: 100 })).toBe("AAAA");
      expect(await biased({ [letterA]: -100, [letterB]: 100 })).toBe("BBBB");
    });

    test("n gives so many answers, whole and in a stream", async () => {
      const several = { ...question, n: 3, logit_bias: { [letterA]: 100 } };
      const whole = await client.chat.completions.create(several);
      expect(whole.choices.map(({ index, message }) => [index, message.content])).toEqual([
        [0, "AAAA"],
        [1, "AAAA"],
        [2, "AAAA"],
      ]);
      expect(whole.usage?.completion_tokens).toBe(12);
      const streamed = await client.chat.completions.stream(several).finalChatCompletion();
      expect(streamed.choices.map(({ message }) => message.content)).toEqual([
        "AAAA",
        "AAAA",
        "AAAA",
      ]);
    });

    test("a seed gives the same answer again, and its n answers differ", async () => {
      const seeded = { ...question, max_tokens: 16, seed: 7, n: 2 };
      const contents = async (): Promise<(string | null)[]> =>
        (await client.chat.completions.create(seeded)).choices.map(
          ({ message }) => message.content,
        );
      const [first, again] = [await contents(), await contents()];
      expect(again).toEqual(first);
      expect(new Set(first).size).toBe(2);
    });

    test("stop ends the answer before its text, in a stream too", async () => {
      const stopped = {
        ...question,
        max_tokens: 40,
        response_format: only("abcdef"),
        stop: ["x", "de"],
      };
      const whole = await client.chat.completions.create(stopped);
      expect(whole.choices[0]).toMatchObject({
        message: { content: '"abc' },
        finish_reason: "stop",
      });
      const chunks = await Array.fromAsync(
        await client.chat.completions.create({ ...stopped, stream: true }),
      );
      const content = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
      expect(content).toBe('"abc');
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop");
    });

    test("logprobs come for each token, with the likeliest beside it", async () => {
      const logit_bias = { [letterA]: 100, [letterB]: 100 }; // a whole character in every place
      const asked = { ...question, temperature: 0, logprobs: true, top_logprobs: 3, logit_bias };
      const { choices } = await client.chat.completions.create(asked);
      const tokens = choices[0]?.logprobs?.content ?? [];
      expect(tokens).toHaveLength(4);
      for (const { token, logprob, top_logprobs: top } of tokens) {
        expect(top).toHaveLength(3);
        expect(top[0]).toMatchObject({ token, logprob });
        expect(top.map(({ logprob }) => logprob)).toEqual(
          top.map(({ logprob }) => logprob).toSorted((a, b) => b - a),
        );
        expect(logprob).toBeLessThanOrEqual(0);
      }
      const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
      expect(streamed.choices[0]?.logprobs?.content).toEqual(tokens);
    });

    test("logprobs spell the answer in bytes, also where a character has several tokens", async () => {
      const { choices } = await client.chat.completions.create({
        ...question,
        max_tokens: 20,
        response_format: only("1 é"),
        logprobs: true,
      });
      const bytes = choices[0]?.logprobs?.content?.flatMap(({ bytes }) => bytes ?? []) ?? [];
      expect(Buffer.from(bytes).toString()).toBe('"1 é"');
    });
  });

  describe("embeddings", () => {
    const model = "tiny-embedding";

    test("take one list of token ids, and several", async () => {
      const one = await client.embeddings.create({ model, input: [5, 6, 7] });
      const several = await client.embeddings.create({
        model,
        input: [
          [5, 6, 7],
          [8, 9],
        ],
      });
      expect(one.data).toHaveLength(1);
      expect(several.data).toHaveLength(2);
      expect(cosine(several.data[0]?.embedding, one.data[0]?.embedding)).toBeCloseTo(1, 5);
      expect(cosine(several.data[1]?.embedding, one.data[0]?.embedding)).toBeLessThan(0.999);
    });

    test("have as many dimensions as asked for, at unit length", async () => {
      const input = "hello";
      const [full, short] = await Promise.all([
        client.embeddings.create({ model, input }),
        client.embeddings.create({ model, input, dimensions: 8 }),
      ]);
      const vector = short.data[0]?.embedding ?? [];
      expect(vector).toHaveLength(8);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
      expect(cosine(vector, full.data[0]?.embedding.slice(0, 8))).toBeCloseTo(1, 5);
    });

    test("are refused with more dimensions than the model has", async () => {
      const refused = client.embeddings.create({ model, input: "hello", dimensions: 33 });
      expect(await rejectionOf(refused)).toMatchObject({
        constructor: BadRequestError,
        param: "dimensions",
      });
    });
  });

  describe("errors", () => {
    test("name the code and both counts where a prompt does not fit", async () => {
      const content = "x".repeat(3000);
      const refused = client.chat.completions.create({
        ...question,
        messages: [{ role: "user", content }],
      });
      expect(await rejectionOf(refused)).toMatchObject({
        constructor: BadRequestError,
        status: 400,
        code: "context_length_exceeded",
        param: "messages",
        message: expect.stringMatching(/30\d\d tokens.*2048/),
      });
    });

    test("come before the first chunk of a stream", async () => {
      const refused = client.chat.completions.create({ ...question, stream: true, n: 9 });
      expect(await rejectionOf(refused)).toMatchObject({
        constructor: BadRequestError,
        param: "n",
      });
    });

    test("say what cannot be honoured, and what is not there", async () => {
      const spoken = {
        ...question,
        modalities: ["audio"],
      } satisfies OpenAI.ChatCompletionCreateParams;
      expect(await rejectionOf(client.chat.completions.create(spoken))).toMatchObject({
        constructor: BadRequestError,
        type: "invalid_request_error",
        param: "modalities",
      });
      expect(await rejectionOf(client.moderations.create({ input: "Hello" }))).toMatchObject({
        constructor: NotFoundError,
        code: "unknown_url",
      });
    });
  });
});

function cosine(a: readonly number[] = [], b: readonly number[] = []): number {
  const dot = a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  return dot / (Math.hypot(...a) * Math.hypot(...b));
}
