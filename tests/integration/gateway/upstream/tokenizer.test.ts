/** The tokenizers of servers elsewhere, each asked in its own words. */
import { describe, expect, test } from "bun:test";
import type { Tokenizer } from "../../../../src/core/ports/tokenizer.ts";
import type { ServerKind } from "../../../../src/gateway/upstream/server-facts.ts";
import { textCounter, upstreamTokenizer } from "../../../../src/gateway/upstream/tokenizer.ts";
import {
  type ConventionServer,
  openAiServer,
  type Script,
} from "../../../support/openai-server.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { targetAt } from "../../../support/upstream.ts";

const options = { signal: new AbortController().signal };
const text = { text: "Hello", addSpecial: true, parseSpecial: true };
const messages = [{ role: "user", content: "Hello" }] as const;

const tokenizerAt = (server: ConventionServer, kind: ServerKind): Tokenizer => {
  const { target } = targetAt(`${server.url}/v1`);
  const tokenizer = upstreamTokenizer(target, kind, 16);
  if (tokenizer === undefined) throw new Error("no tokenizer");
  return tokenizer;
};

const answers =
  (paths: Record<string, unknown>): Script =>
  ({ path }) =>
    path in paths ? Response.json(paths[path]) : undefined;

test.each([
  ["vllm", { count: 0, tokens: [] }],
  ["vllm", { count: 0, tokens: [5] }],
  ["llama-server", { tokens: [] }],
  ["tei", [[]]],
] as const)(
  "a count of no tokens for words is none, and leaves out no passage: %s",
  async (kind, none) => {
    await using server = openAiServer(answers({ "/tokenize": none }));
    const { target } = targetAt(`${server.url}/v1`);
    const count = textCounter(target, kind);
    if (count === undefined) throw new Error("no counter");
    const told = "The server of the model 'far' answered with something else than /tokenize has.";
    for (const words of ["Hello", "你好", "42"]) {
      const error = await rejectionOf(count([words], options.signal));
      expect(error).toMatchObject({ kind: "upstream_failed", message: told });
    }
    // A model may have no token for what is no word.
    expect(await count(["\u200b"], options.signal)).toEqual([0]);
  },
);

describe("the tokenizer of a server elsewhere", () => {
  test("is vLLM's", async () => {
    await using server = openAiServer(
      answers({
        "/tokenize": { count: 2, tokens: [5, 6], token_strs: ["He", "llo"] },
        "/detokenize": { prompt: "Hello" },
      }),
    );
    const tokenizer = tokenizerAt(server, "vllm");
    expect(await tokenizer.tokenize({ ...text, pieces: "vocabulary" }, options)).toEqual({
      tokens: Uint32Array.of(5, 6),
      pieces: ["He", "llo"],
    });
    expect(await tokenizer.tokenize({ messages }, options)).toEqual({
      tokens: Uint32Array.of(5, 6),
    });
    expect(await tokenizer.detokenize([5, 6], options)).toBe("Hello");
    expect(server.asked.map(({ body }) => body)).toEqual([
      { model: "far", prompt: "Hello", add_special_tokens: true, return_token_strs: true },
      { model: "far", messages: [{ role: "user", content: "Hello" }] },
      { model: "far", tokens: [5, 6] },
    ]);
  });

  test("says nothing for a replica, which may fail at all else", async () => {
    await using server = openAiServer(answers({ "/tokenize": { count: 1, tokens: [5] } }));
    const { target, replicas } = targetAt(`${server.url}/v1`);
    await upstreamTokenizer(target, "vllm", 16)?.tokenize(text, options);
    expect(server.asked).toHaveLength(1);
    expect(replicas.said).toEqual([]);
  });

  test("says nothing for a replica where it is asked for too much, either", async () => {
    await using server = openAiServer(() => new Response("busy", { status: 429 }));
    const { target, replicas } = targetAt(`${server.url}/v1`);
    const asked = upstreamTokenizer(target, "vllm", 16)?.tokenize(text, options);
    expect(await rejectionOf(asked ?? Promise.resolve())).toMatchObject({
      kind: "too_many_requests",
    });
    expect(replicas.said).toEqual([]);
  });

  test("is llama-server's", async () => {
    await using server = openAiServer(
      answers({
        "/tokenize": { tokens: [5, 6] },
        "/detokenize": { content: "Hello" },
        "/apply-template": { prompt: "<user>Hello" },
      }),
    );
    const tokenizer = tokenizerAt(server, "llama-server");
    const bare = { ...text, addSpecial: false };
    expect((await tokenizer.tokenize(bare, options))?.tokens).toEqual(Uint32Array.of(5, 6));
    await tokenizer.tokenize({ messages }, options);
    expect(await tokenizer.detokenize([5, 6], options)).toBe("Hello");
    expect(server.asked.map(({ path, body }) => ({ path, body }))).toEqual([
      { path: "/tokenize", body: { content: "Hello", add_special: false, parse_special: true } },
      { path: "/apply-template", body: { messages: [{ role: "user", content: "Hello" }] } },
      {
        path: "/tokenize",
        body: { content: "<user>Hello", add_special: true, parse_special: true },
      },
      { path: "/detokenize", body: { tokens: [5, 6] } },
    ]);
  });

  test("is Text Embeddings Inference's", async () => {
    const token = (id: number) => ({ id, text: "x", special: false, start: 0, stop: 1 });
    await using server = openAiServer(
      answers({ "/tokenize": [[token(5), token(6)]], "/decode": ["hello"] }),
    );
    const tokenizer = tokenizerAt(server, "tei");
    expect((await tokenizer.tokenize(text, options))?.tokens).toEqual(Uint32Array.of(5, 6));
    expect(await tokenizer.detokenize([5, 6], options)).toBe("hello");
    expect(server.asked.map(({ body }) => body)).toEqual([
      { inputs: "Hello", add_special_tokens: true },
      { ids: [5, 6], skip_special_tokens: false },
    ]);
  });

  test.each([
    ["vllm", { ...text, parseSpecial: false }, "parse_special"],
    ["vllm", { ...text, pieces: "text" }, "with_pieces"],
    ["llama-server", { ...text, pieces: "vocabulary" }, "return_token_strs"],
    ["tei", { messages }, "messages"],
    ["tei", { ...text, pieces: "text" }, "with_pieces"],
  ] as const)("refuses by name what %s has nothing like: %j", async (kind, input, param) => {
    await using server = openAiServer(() => undefined);
    const tokenizer = tokenizerAt(server, kind);
    expect(await rejectionOf(tokenizer.tokenize(input, options))).toMatchObject({
      kind: "invalid_request",
      param,
    });
    expect(server.asked).toEqual([]);
  });

  test("is not asked for a text that is far too long, and is not believed in all it says", async () => {
    await using server = openAiServer(
      answers({ "/tokenize": { tokens: [5, "x"] }, "/detokenize": {} }),
    );
    const tokenizer = tokenizerAt(server, "vllm");
    const long = { ...text, text: "a".repeat(16 * 128 + 1) };
    expect(await tokenizer.tokenize(long, options)).toBeUndefined();
    expect(server.asked).toEqual([]);
    const garbage = { kind: "upstream_failed" };
    expect(await rejectionOf(tokenizer.tokenize(text, options))).toMatchObject(garbage);
    expect(await rejectionOf(tokenizer.detokenize([5], options))).toMatchObject(garbage);
  });

  describe("answers a long text with a description of each token", () => {
    const described: Script = ({ body }) => {
      const tokens = Array.from(Object(body).inputs, (letter, at) => ({
        ...{ id: 5, text: letter, special: false, start: at, stop: at + 1 },
      }));
      return Response.json([tokens]);
    };
    const asked = async (length: number) => {
      await using server = openAiServer(described);
      const { target, replicas } = targetAt(`${server.url}/v1`);
      const long = { ...text, text: "a".repeat(length) };
      const outcome = await upstreamTokenizer(target, "tei", 32_768)
        ?.tokenize(long, options)
        .then(
          (found) => found?.tokens.length,
          ({ kind }) => kind,
        );
      return { outcome, said: replicas.said };
    };

    test("which is read for the longest context", async () => {
      expect(await asked(32_768)).toEqual({ outcome: 32_768, said: [] });
    });

    test("and is no fault of the server's where it is too large", async () => {
      expect(await asked(60_000)).toEqual({ outcome: "payload_too_large", said: [] });
      // More than may be read at all.
      expect(await asked(400_000)).toEqual({ outcome: "payload_too_large", said: [] });
    });
  });

  test.each([
    ["vllm", text],
    ["llama-server", { messages }],
    ["tei", text],
  ] as const)(
    "of %s that answers with nothing has failed: that is not a text without tokens",
    async (kind, input) => {
      await using server = openAiServer(() => Response.json({}));
      const asked = tokenizerAt(server, kind).tokenize(input, options);
      expect(await rejectionOf(asked)).toMatchObject({ kind: "upstream_failed" });
    },
  );

  test.each(["plain", "sglang"] as const)("is none where %s does not tell", (kind) => {
    const { target } = targetAt("http://127.0.0.1:9/v1");
    expect(upstreamTokenizer(target, kind, 16)).toBeUndefined();
  });
});
