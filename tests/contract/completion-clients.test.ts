/** Completions and tokenising by the clients that people use, nothing in between. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { OpenAI as LangChainOpenAI } from "@langchain/openai";
import { generateText, streamText } from "ai";
import OpenAI, { BadRequestError } from "openai";
import { DetokenizeResult, TokenizeResult } from "../../src/server/operations/tokenize.ts";
import { decode } from "../support/decode.ts";
import { nodesForClients } from "../support/front-node.ts";
import { rejectionOf } from "../support/rejection.ts";
import type { TinyNode, tinyNode } from "../support/tiny-node.ts";

let node: TinyNode;
let client: OpenAI;

function connect(start: typeof tinyNode): void {
  beforeAll(async () => {
    node = await start({});
    client = new OpenAI({ baseURL: node.baseUrl, apiKey: "any", maxRetries: 0 });
  });
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });
}

/** The one answer is "A", as often as there is room for. */
const onlyA = { 291: 100 };
const prompt = { model: "tiny-chat", prompt: "Once", temperature: 0, max_tokens: 4 };

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${node.baseUrl}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "tiny-chat", ...body }),
  });

describe.each(nodesForClients)("the openai package's completions against %s", (_, start) => {
  connect(start);

  test("continue a text, with the reason and the tokens", async () => {
    const answer = await client.completions.create({ ...prompt, logit_bias: onlyA });
    expect(answer.object).toBe("text_completion");
    expect(answer.choices).toEqual([
      { index: 0, text: "AAAA", logprobs: null, finish_reason: "length" },
    ]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 4 });
  });

  test("have 16 tokens where nothing is said", async () => {
    const { max_tokens: _max, ...silent } = prompt;
    const { usage } = await client.completions.create({ ...silent, logit_bias: onlyA });
    expect(usage?.completion_tokens).toBe(16);
  });

  test("are streamed as they are whole", async () => {
    const whole = await client.completions.create(prompt);
    const stream = await client.completions.create({
      ...prompt,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).toBe(
      whole.choices[0]?.text ?? "?",
    );
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  });

  test("take texts, token ids and lists of them", async () => {
    const biased = { ...prompt, logit_bias: onlyA };
    const texts = await client.completions.create({ ...biased, prompt: ["Once", "Twice"], n: 2 });
    expect(texts.choices.map(({ index, text }) => [index, text])).toEqual([
      [0, "AAAA"],
      [1, "AAAA"],
      [2, "AAAA"],
      [3, "AAAA"],
    ]);
    const ids = await client.completions.create({
      ...biased,
      prompt: [
        [1, 291],
        [1, 292, 293],
      ],
    });
    expect(ids.choices).toHaveLength(2);
    expect(ids.usage?.prompt_tokens).toBe(5);
    const one = await client.completions.create({ ...biased, prompt: [1, 291] });
    expect(one.usage?.prompt_tokens).toBe(2);
  });

  test("begin with the prompt", async () => {
    const answer = await client.completions.create({ ...prompt, echo: true, logit_bias: onlyA });
    expect(answer.choices[0]?.text).toBe("OnceAAAA");
  });

  test("have log probabilities in the older form", async () => {
    const biased = { ...prompt, logit_bias: { 291: 3 } };
    const { choices } = await client.completions.create({ ...biased, logprobs: 2 });
    const { text, logprobs } = choices[0] ?? {};
    const { tokens = [], token_logprobs: values = [], top_logprobs: top = [] } = logprobs ?? {};
    expect(tokens.length).toBeGreaterThan(0);
    expect(values).toHaveLength(tokens.length);
    expect(logprobs?.text_offset?.[0]).toBe(0);
    for (const [at, token] of tokens.entries()) {
      expect(values[at]).toBeLessThan(0);
      // At temperature 0 the token is the likeliest itself.
      expect(Object.keys(top[at] ?? {})).toHaveLength(2);
      expect(top[at]?.[token]).toBeCloseTo(values[at] ?? 0, 4);
    }
    const plain = tokens.filter((token) => !token.startsWith("bytes:"));
    for (const token of plain) expect(text).toContain(token);
  });

  test("are the best of several, and not in a stream", async () => {
    const sampled = { ...prompt, temperature: 1, best_of: 3, n: 2, logprobs: 0 };
    const { choices, usage } = await client.completions.create(sampled);
    const means = choices.map(({ logprobs }) => {
      const values = logprobs?.token_logprobs ?? [];
      return values.length === 0
        ? Number.NEGATIVE_INFINITY
        : values.reduce((sum, value) => sum + value, 0) / values.length;
    });
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(means[0]).toBeGreaterThanOrEqual(means[1] ?? 0);
    expect(usage?.completion_tokens).toBeGreaterThan(4);
    const streamed = client.completions.create({ ...sampled, stream: true });
    expect(await rejectionOf(streamed)).toMatchObject({
      constructor: BadRequestError,
      param: "best_of",
    });
  });

  test("find what was evaluated before", async () => {
    const long = "The llama hums while it walks up the hill. ".repeat(4);
    await client.completions.create({ ...prompt, prompt: long });
    const again = await client.completions.create({ ...prompt, prompt: `${long}It` });
    expect(again.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(100);
  });

  test("find what was evaluated for a chat, where the prompt is the chat's own", async () => {
    const content = "An alpaca and a guanaco met at the well. ".repeat(4);
    const chat = { model: "tiny-chat", messages: [{ role: "user", content } as const] };
    const { usage } = await client.chat.completions.create({ ...chat, max_tokens: 1 });
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeLessThan(20);
    const { tokens, count } = await decode(TokenizeResult, await post("tokenize", chat));
    expect(count).toBe(usage?.prompt_tokens ?? 0);
    const raw = await client.completions.create({ ...prompt, prompt: tokens.map(Number) });
    // All but the last, which is evaluated to go on from.
    expect(raw.usage?.prompt_tokens_details?.cached_tokens).toBe(count - 1);
  });

  test("are refused by name", async () => {
    const refused = client.completions.create({ ...prompt, suffix: "the end" });
    expect(await rejectionOf(refused)).toMatchObject({
      constructor: BadRequestError,
      param: "suffix",
    });
    const unknown = client.completions.create({ ...prompt, prompt: [1, 99_999] });
    expect(await rejectionOf(unknown)).toMatchObject({ param: "prompt" });
  });

  test("and tokenising are each other's inverse", async () => {
    for (const text of ["Once", " two  spaces\n", "🦙🏽 日本語", "<s> and </s>", ""]) {
      const body = { prompt: text, add_special_tokens: false };
      const { tokens } = await decode(TokenizeResult, await post("tokenize", body));
      const back = await decode(DetokenizeResult, await post("detokenize", { tokens }));
      expect(back).toEqual({ prompt: text, content: text });
    }
    const { tokens, count } = await decode(
      TokenizeResult,
      await post("tokenize", { prompt: "Once" }),
    );
    const answers = await Promise.all(
      ["Once", tokens.map(Number)].map((one) =>
        client.completions.create({ ...prompt, prompt: one }),
      ),
    );
    expect(answers.map(({ usage }) => usage?.prompt_tokens)).toEqual([count, count]);
    expect(answers[0]?.choices[0]?.text).toBe(answers[1]?.choices[0]?.text ?? "?");
  });
});

describe("other clients' completions against a listening node", () => {
  connect(nodesForClients[0][1]);

  test("of the openai package have the prompt's log probabilities with its echo", async () => {
    const scored = { ...prompt, echo: true, logprobs: 1, max_tokens: 0 };
    const { choices, usage } = await client.completions.create(scored);
    expect(choices[0]?.text).toBe("Once");
    expect(choices[0]?.logprobs).toMatchObject({
      tokens: ["<s>", " ", "O", "n", "c", "e"],
      text_offset: [0, 0, 0, 1, 2, 3],
    });
    const [first, ...rest] = choices[0]?.logprobs?.token_logprobs ?? [];
    expect(first).toBeNull();
    for (const value of rest) expect(value).toBeLessThan(0);
    expect(usage?.completion_tokens).toBe(0);
  });

  test("of the openai package have them in each of several answers, also in a stream", async () => {
    const scored = { ...prompt, echo: true, logprobs: 0, n: 2, max_tokens: 1, logit_bias: onlyA };
    const { choices } = await client.completions.create(scored);
    const tokens = ["<s>", " ", "O", "n", "c", "e", "A"];
    expect(choices.map(({ text, logprobs }) => [text, logprobs?.tokens])).toEqual([
      ["OnceA", tokens],
      ["OnceA", tokens],
    ]);
    expect(choices[0]?.logprobs).toEqual(choices[1]?.logprobs ?? null);
    const stream = await client.completions.create({ ...scored, stream: true });
    const streamed = (await Array.fromAsync(stream)).flatMap((chunk) => chunk.choices);
    for (const index of [0, 1]) {
      const own = streamed.filter((choice) => choice.index === index);
      expect(own.flatMap(({ logprobs }) => logprobs?.tokens ?? [])).toEqual(tokens);
    }
  });

  test("of LangChain invoke, stream and batch", async () => {
    const model = new LangChainOpenAI({
      model: "tiny-chat",
      apiKey: "any",
      configuration: { baseURL: node.baseUrl },
      maxTokens: 4,
      maxRetries: 0,
      logitBias: onlyA,
    });
    expect(await model.invoke("Once")).toBe("AAAA");
    expect((await Array.fromAsync(await model.stream("Once"))).join("")).toBe("AAAA");
    const { generations } = await model.generate(["Once", "Twice"]);
    expect(generations.map(([one]) => one?.text)).toEqual(["AAAA", "AAAA"]);
  });

  test("of the AI SDK generate and stream", async () => {
    const provider = createOpenAI({ baseURL: node.baseUrl, apiKey: "any" });
    const asked = {
      model: provider.completion("tiny-chat"),
      prompt: "Once",
      maxOutputTokens: 4,
      providerOptions: { openai: { logitBias: onlyA, logprobs: 1 } },
    };
    const answer = await generateText(asked);
    expect(answer).toMatchObject({ text: "AAAA", finishReason: "length" });
    expect(answer.usage.outputTokens).toBe(4);
    const streamed = streamText(asked);
    expect((await Array.fromAsync(streamed.textStream)).join("")).toBe("AAAA");
    expect(await streamed.finishReason).toBe("length");
  });
});
