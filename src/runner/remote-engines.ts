/** Engine ports backed by a runner: each method is a call to its process. */
import { setTimeout as pauseFor } from "node:timers/promises";
import { onAbort } from "../core/abort.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type {
  CallOptions,
  ChatEngine,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
} from "../core/ports/chat-engine.ts";
import type { EmbeddingEngine } from "../core/ports/embedding-engine.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import type { TokenizedText, Tokenizer } from "../core/ports/tokenizer.ts";
import { type Call, type CallItem, type Facts, initialCredits } from "./protocol.ts";
import type { Runner } from "./runner-supervisor.ts";

type Asked = Exclude<CallItem["type"], "start" | "event" | "scored" | "error" | "end">;

export function remoteChatEngine(
  runner: Runner,
  { contextSize }: Extract<Facts, { type: "chat" }>,
): ChatEngine {
  return {
    contextSize,
    tokenizer: remoteTokenizer(runner),
    async countTokens(messages, tools, options) {
      const call: Call = {
        type: "count-chat",
        messages,
        ...given({ tools, caller: options?.caller }),
      };
      const { counts } = await ask(runner, call, "counts", options);
      return counts[0] ?? 0;
    },
    generate: (request, options) => generate(runner, request, options),
  };
}

export function remoteEmbeddingEngine(
  runner: Runner,
  { dimension, maxTokens, vocabularySize }: Extract<Facts, { type: "embedding" }>,
): EmbeddingEngine {
  return {
    dimension,
    maxTokens,
    vocabularySize,
    tokenizer: remoteTokenizer(runner),
    async countTokens(inputs, options) {
      return (await ask(runner, { type: "count-inputs", inputs }, "counts", options)).counts;
    },
    async embed(inputs, options) {
      const { background, caller } = options;
      const call: Call = { type: "embed", inputs, ...given({ background, caller }) };
      return (await ask(runner, call, "embeddings", options)).embeddings;
    },
  };
}

export function remoteReranker(
  runner: Runner,
  { maxTokens }: Extract<Facts, { type: "reranker" }>,
): Reranker {
  return {
    maxTokens,
    async rank(question, passages, options) {
      const { maxPassageTokens, maxTokens: most, cutsQuestion, caller } = options;
      const bounds = given({ maxPassageTokens, maxTokens: most, cutsQuestion, caller });
      const call: Call = { type: "rank", question, passages, ...bounds };
      return (await ask(runner, call, "ranking", options)).ranking;
    },
  };
}

function remoteTokenizer(runner: Runner): Tokenizer {
  return {
    async tokenize(input, options) {
      const { tokenized } = await ask(runner, { type: "tokenize", input }, "tokens", options);
      if (tokenized === undefined) return undefined;
      const { tokens, pieces: written } = tokenized;
      const pieces: TokenizedText["pieces"] = written && JSON.parse(written);
      return { tokens, ...given({ pieces }) };
    },
    async detokenize(tokens, options) {
      return (await ask(runner, { type: "detokenize", tokens }, "text", options)).text;
    },
  };
}

/** Starts the model's process if there is none. */
export async function untilLoaded(runner: Runner, signal: AbortSignal): Promise<void> {
  await ask(runner, { type: "load" }, "text", { signal });
}

async function ask<Type extends Asked>(
  runner: Runner,
  call: Call,
  wanted: Type,
  { signal, onStart }: { signal?: AbortSignal; onStart?: (tokens: number) => void } = {},
): Promise<Extract<CallItem, { type: Type }>> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Extract<CallItem, { type: Type }>>();
  const isWanted = (item: CallItem): item is Extract<CallItem, { type: Type }> =>
    item.type === wanted;
  const { cancel } = runner.call(call, {
    hear(item) {
      if (item.type === "start") onStart?.(item.tokens);
      else if (isWanted(item)) resolve(item);
      else reject(unexpected(item));
    },
    fail: reject,
  });
  // A cancelled call is in progress until the process has stopped computing it.
  using _ = onAbort(signal, () => {
    cancel();
    void pauseFor(longestCancelMs, undefined, { ref: false }).then(() => reject(signal?.reason));
  });
  try {
    return await promise;
  } finally {
    signal?.throwIfAborted();
  }
}

async function* generate(
  runner: Runner,
  request: GenerationRequest | CompletionRequest,
  { signal, caller, prefixScope, onStart }: CallOptions,
): AsyncGenerator<GenerationEvent> {
  signal.throwIfAborted();
  /** JSON is parsed when it is read. */
  const events: (GenerationEvent | string)[] = [];
  let outcome: { error?: unknown } | undefined;
  let arrived = Promise.withResolvers<void>();
  const { promise: hasEnded, resolve: end } = Promise.withResolvers<void>();
  const settle = (error?: unknown): void => {
    outcome ??= given({ error });
    arrived.resolve();
    end();
  };
  const call: Call = { type: "generate", request, ...given({ caller, prefixScope }) };
  const { cancel, credit } = runner.call(call, {
    hear(item) {
      if (item.type === "start") onStart?.(item.tokens);
      else if (item.type === "event" || item.type === "scored") events.push(item.event);
      else settle(item.type === "end" ? undefined : unexpected(item));
      arrived.resolve();
    },
    fail: settle,
  });
  // At once, not on the next read: nobody may be reading, and the slot must be freed.
  using _ = onAbort(signal, () => {
    cancel();
    arrived.resolve();
  });
  let taken = 0;
  try {
    for (;;) {
      for (const event of events.splice(0)) {
        signal.throwIfAborted();
        yield typeof event === "string" ? JSON.parse(event) : event;
        taken++;
        if (taken < initialCredits / 2) continue;
        credit(taken);
        taken = 0;
      }
      if (events.length > 0) continue;
      signal.throwIfAborted();
      if (outcome?.error !== undefined) throw outcome.error;
      if (outcome !== undefined) return;
      await arrived.promise;
      arrived = Promise.withResolvers();
    }
  } finally {
    cancel();
    if (outcome === undefined) {
      await Promise.race([hasEnded, pauseFor(longestCancelMs, undefined, { ref: false })]);
    }
  }
}

/** How long a cancelled call waits for confirmation, which takes about a token unless it hangs. */
const longestCancelMs = 10_000;

const unexpected = ({ type }: CallItem): NodeError =>
  new NodeError("internal", `A runner answered with '${type}', which was not asked for.`);
