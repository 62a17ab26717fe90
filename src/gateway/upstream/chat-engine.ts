/** Chat with an upstream model, over the OpenAI API. */
import { longerThanContext } from "../../core/chat/context-room.ts";
import { hasImages, imageMarks } from "../../core/chat/images.ts";
import { NodeError } from "../../core/errors.ts";
import type {
  ChatEngine,
  ChatMessage,
  CompletionRequest,
  GenerationRequest,
  RawPrompt,
} from "../../core/ports/chat-engine.ts";
import { attempt, digestOf, openResponse, type Question, type Upstream } from "./ask.ts";
import { echoOf, toChatBody, toCompletionBody } from "./chat-request.ts";
import { type AskedAnswer, beginAnswer } from "./chat-stream.ts";
import type { ServerKind } from "./server-facts.ts";
import {
  type ChatCounter,
  imageTokens,
  mostBytesPerToken,
  TokenEstimate,
  withoutImages,
} from "./tokenizer.ts";

export interface UpstreamChatOptions extends Pick<ChatEngine, "contextSize" | "tokenizer"> {
  kind: ServerKind;
  /** Absent: tokens are estimated. */
  count?: ChatCounter | undefined;
}

/** Answers of up to this many tokens are accepted even if the reported context is smaller. */
const longestAnswer = 65_536;
/** A prompt may have this many times its estimated tokens, an image three times that, and besides a template with its own instructions. */
const mostOfEstimate = 4;
const mostOfTemplate = 4096;

/** A request to the server, and what to expect of its answer. */
interface Asked {
  question: Question & { field: AskedAnswer["field"] };
  prefix: string;
  promptTokens: number;
  /** The prompt, if it is to be repeated before the answer. */
  echoed?: string;
  /** Called with the number of tokens that the server counted. */
  learn?: (promptTokens: number) => void;
}

export function upstreamChatEngine(upstream: Upstream, options: UpstreamChatOptions): ChatEngine {
  const { contextSize, tokenizer, kind, count } = options;
  const { upstreamModel: model, named, log } = upstream;
  const estimate = new TokenEstimate();
  let hasToldOfUsage = false;

  /** So long that there is no need to count. */
  const isTooLong = (messages: readonly ChatMessage[]): boolean => {
    const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
    return characters > contextSize * mostBytesPerToken;
  };

  const chat = (request: GenerationRequest, prefixScope: string | undefined): Asked => {
    const { messages, toolUse } = request;
    if (isTooLong(messages)) throw longerThanContext(contextSize, "messages");
    const tools = toolUse?.tools ?? [];
    const body = toChatBody(request, { kind, contextSize, model, prefixScope });
    return {
      question: { path: "/chat/completions", body, field: "messages" },
      prefix: promptPrefix(messages, { model, scope: prefixScope }),
      promptTokens: estimate.ofChat(messages, tools),
      learn: (tokens) => estimate.learn(messages, tools, tokens),
    };
  };

  const completion = (request: CompletionRequest, prefixScope: string | undefined): Asked => {
    const { prompt } = request;
    const most = contextSize * (typeof prompt === "string" ? mostBytesPerToken : 1);
    if (prompt.length > most) throw longerThanContext(contextSize, "prompt");
    const body = toCompletionBody(request, { kind, contextSize, model, prefixScope });
    return {
      question: { path: "/completions", body, field: "prompt" },
      prefix: rawPrefix(prompt, model, prefixScope),
      promptTokens: typeof prompt === "string" ? estimate.ofText(prompt) : prompt.length,
      echoed: echoOf(request),
    };
  };

  const tellOfUsage = (): void => {
    if (hasToldOfUsage) return;
    hasToldOfUsage = true;
    log.warn("an upstream server does not count tokens; they are estimated", { of: named });
  };

  return {
    contextSize,
    tokenizer,
    async countTokens(messages, tools = [], { signal } = { signal: new AbortController().signal }) {
      if (isTooLong(messages)) return Number.POSITIVE_INFINITY;
      if (count === undefined) return estimate.ofChat(messages, tools);
      return (await count(withoutImages(messages), tools, signal)) + imageTokens(messages);
    },
    async *generate(request, { signal, prefixScope, onStart }) {
      signal.throwIfAborted();
      const {
        question,
        prefix,
        promptTokens,
        echoed = "",
        learn,
      } = "prompt" in request ? completion(request, prefixScope) : chat(request, prefixScope);
      const { maxTokens, topLogprobs } = request;
      // A server that exceeds these is abandoned. Its context may be larger than it reports.
      const mostAnswer = Math.max(contextSize, longestAnswer);
      const images = "messages" in request ? 2 * imageTokens(request.messages) : 0;
      const bounds: AskedAnswer = {
        field: question.field,
        tokens: Math.min(maxTokens ?? mostAnswer, mostAnswer),
        // Not by the context, which is the server's own claim.
        most: {
          prompt: (promptTokens + images) * mostOfEstimate + mostOfTemplate,
          answer: Math.min(maxTokens ?? longestAnswer, mostAnswer),
        },
        topLogprobs,
      };
      let hasStarted = false;
      // Servers fail at images that they cannot fetch or decode: all such requests count as one.
      const isSeen = "messages" in request && hasImages(request.messages);
      const identify = (): string => (isSeen ? "images" : digestOf(question.body));
      const choice = { prefix, request: identify, signal };
      using answer = await attempt(upstream, choice, async (lease, signal) => {
        using resources = new DisposableStack();
        const response = await openResponse(upstream, question, lease.url, signal);
        resources.use(response);
        if (!hasStarted) onStart?.(promptTokens);
        hasStarted = true;
        const begun = await beginAnswer(upstream, response, lease, bounds, signal);
        resources.move();
        return begun;
      });
      if (echoed !== "") yield { type: "text", text: echoed, echoed: true };
      for await (const event of answer.events(promptTokens)) {
        if (event.type === "finish") {
          if (answer.isCounted()) learn?.(event.usage.promptTokens);
          else tellOfUsage();
        }
        yield event;
      }
    },
  };
}

/** Conversations with this many characters in common may share a replica. */
const mostCharacters = 64 * 1024;

/** Digest of what stays the same in each turn: scope, model, all up to the first user message. */
export function promptPrefix(
  messages: readonly ChatMessage[],
  { model, scope = "" }: { model: string; scope?: string | undefined },
): string {
  const first = messages.findIndex(({ role }) => role === "user");
  const beginning = messages.slice(0, first + 1).map((message) => {
    const { role, content } = message;
    return JSON.stringify([role, content.slice(0, mostCharacters), ...imageMarks(message)]);
  });
  return digestOf([JSON.stringify([scope, model]), ...beginning]);
}

/** Short, so that a prompt that grows still has the same prefix. */
const mostOfPrompt = 256;

const rawPrefix = (prompt: RawPrompt, model: string, scope = ""): string =>
  digestOf([JSON.stringify([scope, model, prompt.slice(0, mostOfPrompt)])]);

/** A list of models may be open without a key, so this sends an empty chat, which is refused. */
export async function checkChat(upstream: Upstream, signal: AbortSignal): Promise<void> {
  const { upstreamModel: model } = upstream;
  const body = [JSON.stringify({ model, messages: [], max_tokens: 1 })];
  const question = { path: "/chat/completions", body, field: "messages" } as const;
  try {
    await attempt(upstream, { signal }, async (lease, signal) => {
      using _ = lease;
      using __ = await openResponse(upstream, question, lease.url, signal);
    });
  } catch (error) {
    if (!(error instanceof NodeError) || !expected.includes(error.kind)) throw error;
  }
}

/** Some servers fail instead of refusing. */
const expected = ["invalid_request", "context_length_exceeded", "upstream_failed"];
