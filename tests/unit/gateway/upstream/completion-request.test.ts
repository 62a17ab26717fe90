import { describe, expect, test } from "bun:test";
import type { CompletionRequest } from "../../../../src/core/ports/chat-engine.ts";
import { toLogprobs } from "../../../../src/gateway/upstream/chat-chunks.ts";
import { echoOf, toCompletionBody } from "../../../../src/gateway/upstream/chat-request.ts";
import type { ServerKind } from "../../../../src/gateway/upstream/server-facts.ts";
import { greedy } from "../../../support/greedy.ts";

const ask = (rest: Partial<CompletionRequest> = {}): CompletionRequest => ({
  prompt: "Once",
  sampling: { ...greedy, temperature: 0.5 },
  ...rest,
});

const bodyFor = (kind: ServerKind, request = ask(), prefixScope = ""): unknown =>
  JSON.parse(
    toCompletionBody(request, {
      model: "far",
      kind,
      contextSize: 100,
      ...(prefixScope ? { prefixScope } : {}),
    }),
  );

describe("a prompt to a server elsewhere", () => {
  test("carries everything that can be asked for", () => {
    const request = ask({
      prompt: [1, 2],
      maxTokens: 7,
      seed: 3,
      stop: ["END"],
      logitBias: new Map([[5, -1]]),
      topLogprobs: 0,
    });
    expect(bodyFor("plain", request)).toEqual({
      model: "far",
      prompt: [1, 2],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      max_tokens: 7,
      seed: 3,
      stop: ["END"],
      logit_bias: { "5": -1 },
      logprobs: 0,
    });
  });

  test("keeps callers apart where the server can", () => {
    expect(bodyFor("vllm", ask(), "key 1")).toHaveProperty("cache_salt");
    expect(bodyFor("llama-server", ask(), "key 1")).not.toHaveProperty("cache_salt");
  });

  test("asks llama-server for at least one alternative, without which it reports nothing", () => {
    expect(bodyFor("llama-server", ask({ topLogprobs: 0 }))).toMatchObject({ logprobs: 1 });
  });

  test.each([
    [{ suffix: "end" }, "suffix"],
    [{ echo: true, topLogprobs: 0 }, "echo"],
    [{ echo: true, prompt: [1] }, "echo"],
    [{ maxTokens: 0 }, "max_tokens"],
  ] satisfies [Partial<CompletionRequest>, string][])(
    "is refused by name where it is %j",
    (rest, param) => {
      expect(() => bodyFor("plain", ask(rest))).toThrow(
        expect.objectContaining({ kind: "invalid_request", param }),
      );
    },
  );

  test("is given back here", () => {
    expect([echoOf(ask()), echoOf(ask({ echo: true }))]).toEqual(["", "Once"]);
  });
});

test("log probabilities are read in the older form too", () => {
  expect(
    toLogprobs({
      tokens: ["a", "bytes:\\xc3"],
      token_logprobs: [-1, null],
      top_logprobs: [{ a: -1, b: -0.5 }, null],
    }),
  ).toEqual([
    {
      token: "a",
      logprob: -1,
      bytes: [97],
      top: [
        { token: "b", logprob: -0.5, bytes: [98] },
        { token: "a", logprob: -1, bytes: [97] },
      ],
    },
    { token: "bytes:\\xc3", logprob: -9999, bytes: [0xc3], top: [] },
  ]);
});
