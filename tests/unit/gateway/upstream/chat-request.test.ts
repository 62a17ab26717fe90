import { describe, expect, test } from "bun:test";
import type {
  CompletionRequest,
  GenerationRequest,
} from "../../../../src/core/ports/chat-engine.ts";
import {
  echoOf,
  toChatBody,
  toCompletionBody,
} from "../../../../src/gateway/upstream/chat-request.ts";
import { ignoredSampling, type ServerKind } from "../../../../src/gateway/upstream/server-facts.ts";
import { greedy } from "../../../support/greedy.ts";

const ask = (rest: Partial<GenerationRequest> = {}): GenerationRequest => ({
  messages: [{ role: "user", content: "Hi" }],
  sampling: { ...greedy, temperature: 0.5 },
  ...rest,
});

const parsed = (parts: readonly (string | Uint8Array)[]): unknown =>
  JSON.parse(parts.map((part) => Buffer.from(part).toString()).join(""));

const bodyFor = (kind: ServerKind, request = ask(), prefixScope?: string): unknown =>
  parsed(
    toChatBody(request, {
      model: "far",
      kind,
      contextSize: 100,
      ...(prefixScope === undefined ? {} : { prefixScope }),
    }),
  );

const always = {
  model: "far",
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: "user", content: "Hi" }],
};

describe("a chat request to a server elsewhere", () => {
  test("says all of the sampling to one that knows it, in its words", () => {
    const sampling = { temperature: 0.5, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };
    const vllm = { ...always, ...sampling, top_k: -1, min_p: 0, repetition_penalty: 1 };
    const llama = { ...always, ...sampling, top_k: 0, min_p: 0, repeat_penalty: 1 };
    expect([bodyFor("vllm"), bodyFor("sglang")]).toEqual([vllm, vllm]);
    expect([bodyFor("llama-server"), bodyFor("paddock")]).toEqual([llama, llama]);
  });

  test("says to a plain one what the API has and what is not its default, and tells what is left out", () => {
    const sampling = { ...greedy, temperature: 1, topK: 40, minP: 0.1, repeatPenalty: 1.1 };
    expect(bodyFor("plain", ask({ sampling }))).toEqual(always);
    expect(bodyFor("plain")).toEqual({ ...always, temperature: 0.5 });
    const ofLlamaCpp = ["repeatLastN", "dryMultiplier", "dryBase", "dryAllowedLength"] as const;
    expect(ignoredSampling("plain")).toEqual(["topK", "minP", "repeatPenalty", ...ofLlamaCpp]);
    expect(ignoredSampling("vllm")).toEqual(ofLlamaCpp);
    expect(ignoredSampling("llama-server")).toEqual([]);
  });

  test("says to llama.cpp's what is to be repeated less, where that is asked for", () => {
    const dry = { ...greedy, dryMultiplier: 0.8 };
    const said = { dry_multiplier: 0.8, dry_base: 1.75, dry_allowed_length: 2 };
    expect(bodyFor("llama-server", ask({ sampling: dry }))).toMatchObject({
      ...said,
      dry_penalty_last_n: 100,
    });
    expect(bodyFor("paddock", ask({ sampling: { ...dry, repeatLastN: 64 } }))).toMatchObject({
      ...said,
      repeat_last_n: 64,
      dry_penalty_last_n: 64,
    });
    expect(bodyFor("vllm", ask({ sampling: dry }))).not.toHaveProperty("dry_multiplier");
  });

  test("means the likeliest token by a top_p of 0, which vLLM does not take", () => {
    expect(bodyFor("vllm", ask({ sampling: { ...greedy, topP: 0 } }))).toMatchObject({
      top_p: 1e-6,
    });
    expect(bodyFor("paddock", ask({ sampling: { ...greedy, topP: 0 } }))).toMatchObject({
      top_p: 0,
    });
  });

  test("asks no server for more tokens than its context holds that would refuse to", () => {
    const most = (kind: ServerKind, maxTokens: number): unknown =>
      Object(bodyFor(kind, ask({ maxTokens }))).max_tokens;
    expect([most("vllm", 100), most("sglang", 32_000)]).toEqual([undefined, undefined]);
    expect([most("vllm", 99), most("paddock", 100), most("plain", 100)]).toEqual([99, 100, 100]);
  });

  test("carries everything that a generation can be asked for", () => {
    const request = ask({
      maxTokens: 7,
      seed: 0,
      stop: ["END"],
      logitBias: new Map([[12, -100]]),
      topLogprobs: 0,
      format: { schema: { type: "object" } },
      toolUse: {
        tools: [
          { name: "look", description: "Looks.", parameters: { type: "object" } },
          { name: "wait" },
        ],
        choice: { name: "look" },
        parallel: false,
      },
    });
    expect(bodyFor("vllm", request)).toMatchObject({
      max_tokens: 7,
      seed: 0,
      stop: ["END"],
      logit_bias: { 12: -100 },
      logprobs: true,
      top_logprobs: 0,
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema: { type: "object" }, strict: true },
      },
      tools: [
        {
          type: "function",
          function: { name: "look", description: "Looks.", parameters: { type: "object" } },
        },
        { type: "function", function: { name: "wait" } },
      ],
      tool_choice: { type: "function", function: { name: "look" } },
      parallel_tool_calls: false,
    });
    expect(bodyFor("vllm", ask({ format: "json" }))).toMatchObject({
      response_format: { type: "json_object" },
    });
  });

  test("repeats a conversation with tool calls as it was", () => {
    const toolCalls = [{ id: "call_1", name: "look", arguments: '{"at":"sky"}' }];
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Sky?" },
      { role: "assistant", content: "", toolCalls },
      { role: "tool", toolCallId: "call_1", content: "grey" },
      { role: "assistant", content: "Grey." },
    ] as const;
    expect(bodyFor("plain", ask({ messages }))).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Sky?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "call_1",
              type: "function",
              function: { name: "look", arguments: '{"at":"sky"}' },
            },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "grey" },
        { role: "assistant", content: "Grey." },
      ],
    });
  });

  test("is held once for several answers to one conversation", () => {
    const request = ask();
    const server = { model: "far", kind: "vllm", contextSize: 100 } as const;
    const [, one] = toChatBody({ ...request, seed: 1 }, server);
    const [, two] = toChatBody({ ...request, seed: 2 }, server);
    expect(two).toBe(one);
  });

  test("keeps callers' prefixes apart where the server can, without naming them", () => {
    const salted = (scope?: string) => Object(bodyFor("vllm", ask(), scope)).cache_salt;
    expect(salted()).toBeUndefined();
    expect(salted("ada")).toMatch(/^[\w-]{43}$/);
    expect(salted("ada")).not.toBe(salted("bob"));
    expect(bodyFor("paddock", ask(), "ada")).not.toHaveProperty("cache_salt");
  });
});

const askRaw = (rest: Partial<CompletionRequest> = {}): CompletionRequest => ({
  prompt: "Once",
  sampling: { ...greedy, temperature: 0.5 },
  ...rest,
});

const rawBodyFor = (kind: ServerKind, request = askRaw(), prefixScope = ""): unknown =>
  parsed(
    toCompletionBody(request, {
      model: "far",
      kind,
      contextSize: 100,
      ...(prefixScope ? { prefixScope } : {}),
    }),
  );

describe("a prompt to a server elsewhere", () => {
  test("carries everything that can be asked for", () => {
    const request = askRaw({
      prompt: [1, 2],
      maxTokens: 7,
      seed: 3,
      stop: ["END"],
      logitBias: new Map([[5, -1]]),
      topLogprobs: 0,
    });
    expect(rawBodyFor("plain", request)).toEqual({
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
    expect(rawBodyFor("vllm", askRaw(), "key 1")).toHaveProperty("cache_salt");
    expect(rawBodyFor("llama-server", askRaw(), "key 1")).not.toHaveProperty("cache_salt");
  });

  test("asks llama-server for at least one alternative, without which it reports nothing", () => {
    expect(rawBodyFor("llama-server", askRaw({ topLogprobs: 0 }))).toMatchObject({ logprobs: 1 });
  });

  test.each([
    [{ suffix: "end" }, "suffix"],
    [{ echo: true, topLogprobs: 0 }, "echo"],
    [{ echo: true, prompt: [1] }, "echo"],
    [{ maxTokens: 0 }, "max_tokens"],
  ] satisfies [Partial<CompletionRequest>, string][])(
    "is refused by name where it is %j",
    (rest, param) => {
      expect(() => rawBodyFor("plain", askRaw(rest))).toThrow(
        expect.objectContaining({ kind: "invalid_request", param }),
      );
    },
  );

  test("is given back here", () => {
    expect([echoOf(askRaw()), echoOf(askRaw({ echo: true }))]).toEqual(["", "Once"]);
  });
});
