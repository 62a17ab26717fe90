/** Chat with an upstream model, over the OpenAI API. */
import { longerThanContext } from "../../core/chat/context-room.ts";
import { NodeError } from "../../core/errors.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  CompletionRequest,
  GenerationEvent,
  GenerationRequest,
  RawPrompt,
  Tool,
} from "../../core/ports/chat-engine.ts";
import type { Tokenizer } from "../../core/ports/tokenizer.ts";
import { attempt, BadAnswer, digestOf, openResponse, type Question, type Upstream } from "./ask.ts";
import { echoOf, toChatBody, toCompletionBody } from "./chat-request.ts";
import { type AskedAnswer, beginAnswer } from "./chat-stream.ts";
import type { ServerKind } from "./server-facts.ts";
import { type ChatCounter, mostBytesPerToken, TokenEstimate } from "./tokenizer.ts";

export interface UpstreamChatOptions {
  kind: ServerKind;
  contextSize: number;
  /** Absent: tokens are estimated. */
  count?: ChatCounter | undefined;
  /** Absent: the server does not tokenize for clients. */
  tokenizer?: Tokenizer | undefined;
}

/** Answers of up to this many tokens are accepted even if the reported context is smaller. */
const longestAnswer = 65_536;
/** A prompt may have this many times its estimated tokens, including the template's. */
const mostOfEstimate = 4;

/** A request to the server, and what to expect of its answer. */
interface Asked {
  question: Question;
  answer: AskedAnswer;
  prefix: string;
  /** Estimated. */
  promptTokens: number;
  /** The prompt, if it is to be repeated before the answer. */
  echoed: string;
  /** Called with the number of tokens that the server counted. */
  learn: (promptTokens: number) => void;
}

export class UpstreamChatEngine implements ChatEngine {
  readonly contextSize: number;
  readonly tokenizer: Tokenizer | undefined;
  readonly #upstream: Upstream;
  readonly #options: UpstreamChatOptions;
  readonly #estimate = new TokenEstimate();
  #hasToldOfUsage = false;

  constructor(upstream: Upstream, options: UpstreamChatOptions) {
    this.contextSize = options.contextSize;
    this.tokenizer = options.tokenizer;
    this.#upstream = upstream;
    this.#options = options;
  }

  async countTokens(
    messages: readonly ChatMessage[],
    tools: readonly Tool[] = [],
    { signal = new AbortController().signal }: { signal?: AbortSignal } = {},
  ): Promise<number> {
    if (this.#isTooLong(messages)) return Number.POSITIVE_INFINITY;
    const { count } = this.#options;
    return (await count?.(messages, tools, signal)) ?? this.#estimate.ofChat(messages, tools);
  }

  async *generate(
    request: GenerationRequest | CompletionRequest,
    { signal, prefixScope, onStart }: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    signal.throwIfAborted();
    const { prefix, promptTokens, echoed, learn, ...asked } =
      "prompt" in request
        ? this.#completion(request, prefixScope)
        : this.#chat(request, prefixScope);
    let hasStarted = false;
    const choice = { prefix, request: () => digestOf(asked.question.body), signal };
    using answer = await attempt(this.#upstream, choice, async (lease, signal) => {
      using resources = new DisposableStack();
      const response = await openResponse(this.#upstream, asked.question, lease.url, signal);
      resources.use(response);
      if (!hasStarted) onStart?.(promptTokens);
      hasStarted = true;
      const begun = await beginAnswer(this.#upstream, response, lease, asked.answer, signal);
      resources.move();
      return begun;
    });
    if (echoed !== "") yield { type: "text", text: echoed, echoed: true };
    for await (const event of answer.events(promptTokens)) {
      if (event.type === "finish") {
        if (answer.isCounted()) learn(event.usage.promptTokens);
        else this.#tellOfUsage();
      }
      yield event;
    }
  }

  #chat(request: GenerationRequest, prefixScope: string | undefined): Asked {
    const { messages, toolUse } = request;
    if (this.#isTooLong(messages)) throw longerThanContext(this.contextSize, "messages");
    const tools = toolUse?.tools ?? [];
    const { upstreamModel: model } = this.#upstream;
    const body = toChatBody(request, { ...this.#options, model, prefixScope });
    const promptTokens = this.#estimate.ofChat(messages, tools);
    return {
      question: { path: "/chat/completions", body, field: "messages" },
      answer: this.#bounds(request, "messages", promptTokens),
      prefix: promptPrefix(messages, { model, scope: prefixScope }),
      promptTokens,
      echoed: "",
      learn: (tokens) => this.#estimate.learn(messages, tools, tokens),
    };
  }

  #completion(request: CompletionRequest, prefixScope: string | undefined): Asked {
    const { prompt } = request;
    const most = this.contextSize * (typeof prompt === "string" ? mostBytesPerToken : 1);
    if (prompt.length > most) throw longerThanContext(this.contextSize, "prompt");
    const { upstreamModel: model } = this.#upstream;
    const body = toCompletionBody(request, { ...this.#options, model, prefixScope });
    const promptTokens = typeof prompt === "string" ? this.#estimate.ofText(prompt) : prompt.length;
    return {
      question: { path: "/completions", body, field: "prompt" },
      answer: this.#bounds(request, "prompt", promptTokens),
      prefix: rawPrefix(prompt, model, prefixScope),
      promptTokens,
      echoed: echoOf(request),
      learn: () => {},
    };
  }

  /** A server that exceeds these bounds is abandoned. `promptTokens` is an estimate. */
  #bounds(
    { maxTokens, topLogprobs }: GenerationRequest | CompletionRequest,
    field: AskedAnswer["field"],
    promptTokens: number,
  ): AskedAnswer {
    // The server's context may be larger than it reports.
    const answer = Math.max(this.contextSize, longestAnswer);
    const prompt = Math.max(this.contextSize, promptTokens * mostOfEstimate);
    return {
      field,
      tokens: Math.min(maxTokens ?? answer, answer),
      most: { prompt, answer },
      topLogprobs,
    };
  }

  /** So long that there is no need to count. */
  #isTooLong(messages: readonly ChatMessage[]): boolean {
    const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
    return characters > this.contextSize * mostBytesPerToken;
  }

  #tellOfUsage(): void {
    if (this.#hasToldOfUsage) return;
    this.#hasToldOfUsage = true;
    const { named, log } = this.#upstream;
    log.warn("an upstream server does not count tokens; they are estimated", { of: named });
  }
}

/** Conversations with this many characters in common may share a replica. */
const mostCharacters = 64 * 1024;

/** Digest of what stays the same in each turn: scope, model, all up to the first user message. */
export function promptPrefix(
  messages: readonly ChatMessage[],
  { model, scope = "" }: { model: string; scope?: string | undefined },
): string {
  const first = messages.findIndex(({ role }) => role === "user");
  const beginning = messages
    .slice(0, first + 1)
    .map(({ role, content }) => JSON.stringify([role, content.slice(0, mostCharacters)]));
  return digestOf([JSON.stringify([scope, model]), ...beginning]);
}

/** Short, so that a prompt that grows still has the same prefix. */
const mostOfPrompt = 256;

/** The same for a prompt without a template. */
const rawPrefix = (prompt: RawPrompt, model: string, scope = ""): string =>
  digestOf([JSON.stringify([scope, model, prompt.slice(0, mostOfPrompt)])]);

/**
 * Checks that a server would answer a chat, since its list of models may be open without a key. It
 * sends an empty conversation, which a working server refuses.
 */
export async function checkChat(upstream: Upstream, signal: AbortSignal): Promise<void> {
  const { upstreamModel: model } = upstream;
  const body = [JSON.stringify({ model, messages: [], max_tokens: 1 })];
  const question = { path: "/chat/completions", body, field: "messages" } as const;
  await attempt(upstream, { signal }, async (lease, signal) => {
    using _ = lease;
    try {
      using _ = await openResponse(upstream, question, lease.url, signal);
    } catch (error) {
      const reason = error instanceof BadAnswer ? error.cause : error;
      if (!(reason instanceof NodeError) || !expected.includes(reason.kind)) throw error;
    }
  });
}

/** Some servers fail instead of refusing. */
const expected = ["invalid_request", "context_length_exceeded", "upstream_failed"];
