/** An answer's events as the OpenAI API's completion, whole or in chunks. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type { Grounding } from "../../../core/chat/grounding.ts";
import { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import type {
  FinishReason,
  GenerationEvent,
  TokenLogprob,
  TokenLogprobs,
  TokenUsage,
} from "../../../core/ports/chat-engine.ts";
import { redactPaths } from "../../redact-paths.ts";
import { toPointMetadata } from "../../wire/point-schema.ts";
import type { ChatCompletion, ChatCompletionChunk, Usage } from "./schema.ts";

/** What every part of one completion shares. */
export interface CompletionHead {
  id: string;
  created: number;
}

export function newCompletionHead(): CompletionHead {
  return { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000) };
}

type Message = ChatCompletion["choices"][number]["message"];
type Chunk = ChatCompletionChunk["choices"][number];
type Logprobs = ChatCompletion["choices"][number]["logprobs"];

/** One choice while its events come in. */
interface Draft {
  content: string;
  reasoning: string;
  calls: { id: string; name: string; text: string }[];
  logprobs: TokenLogprobs[] | undefined;
  finish: { reason: FinishReason; usage: TokenUsage } | undefined;
}

export async function toChatCompletion(
  { id, created }: CompletionHead,
  { model, fingerprint, choices, grounding, events }: ChatAnswer,
): Promise<ChatCompletion> {
  const drafts = Array.from(
    { length: choices },
    (): Draft => ({
      content: "",
      reasoning: "",
      calls: [],
      logprobs: undefined,
      finish: undefined,
    }),
  );
  for await (const { index, value: event } of events) {
    const draft = drafts[index];
    if (draft !== undefined) write(draft, event);
  }
  const finished = drafts.map((draft) => {
    if (draft.finish === undefined) throw unfinished();
    return { ...draft, finish: draft.finish };
  });
  return {
    id,
    object: "chat.completion",
    created,
    model,
    system_fingerprint: fingerprint,
    choices: finished.map((draft, index) => ({
      index,
      message: toMessage(draft),
      logprobs: toLogprobs(draft.logprobs),
      finish_reason: draft.finish.reason,
    })),
    usage: toUsage(finished.map(({ finish }) => finish.usage)),
    ...given({ retrieval: grounding && toRetrieval(grounding) }),
  };
}

function write(draft: Draft, event: GenerationEvent): void {
  switch (event.type) {
    case "text":
      draft.content += event.text;
      if (event.logprobs !== undefined) {
        draft.logprobs ??= [];
        draft.logprobs.push(...event.logprobs);
      }
      break;
    case "reasoning":
      draft.reasoning += event.text;
      break;
    case "tool-call":
      draft.calls[event.index] = { id: event.id, name: event.name, text: "" };
      break;
    case "tool-arguments": {
      const call = draft.calls[event.index];
      if (call !== undefined) call.text += event.text;
      break;
    }
    case "finish":
      draft.finish = event;
      break;
  }
}

function toMessage({ content, reasoning, calls }: Draft): Message {
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, text }) => ({
            id,
            type: "function",
            function: { name, arguments: text },
          })),
        }),
  };
}

/** The chunks of a streamed completion, as JSON; the first comes with the first event. */
export async function* toChunks(
  { id, created }: CompletionHead,
  { model, fingerprint, choices, grounding, events }: ChatAnswer,
  includeUsage: boolean,
): AsyncGenerator<string> {
  // Everything but the choices is the same in every chunk: it is serialised once.
  const start = JSON.stringify({
    id,
    object: "chat.completion.chunk",
    created,
    model,
    system_fingerprint: fingerprint,
  } satisfies Partial<ChatCompletionChunk>).slice(0, -1);
  const end = includeUsage ? ',"usage":null' : "";
  const retrieval =
    grounding === undefined ? "" : `,"retrieval":${JSON.stringify(toRetrieval(grounding))}`;
  const chunk = (choice: Chunk, more = ""): string =>
    `${start},"choices":[${JSON.stringify(choice)}]${end}${more}}`;
  const opened = new Set<number>();
  const usages: TokenUsage[] = [];
  for await (const { index, value: event } of events) {
    if (!opened.has(index)) yield chunk(toChoice(index, { role: "assistant", content: "" }));
    opened.add(index);
    if (event.type === "finish") usages.push(event.usage);
    const isLast = event.type === "finish" && usages.length === choices && !includeUsage;
    yield chunk(toChunkChoice(index, event), isLast ? retrieval : "");
  }
  if (usages.length < choices) throw unfinished();
  if (includeUsage) {
    yield `${start},"choices":[],"usage":${JSON.stringify(toUsage(usages))}${retrieval}}`;
  }
}

function toChunkChoice(index: number, event: GenerationEvent): Chunk {
  switch (event.type) {
    case "text": {
      const choice = toChoice(index, { role: "assistant", content: event.text });
      return event.logprobs === undefined
        ? choice
        : { ...choice, logprobs: toLogprobs(event.logprobs) };
    }
    case "reasoning":
      return toChoice(index, { role: "assistant", reasoning_content: event.text });
    case "tool-call":
      return toChoice(index, {
        role: "assistant",
        tool_calls: [
          {
            index: event.index,
            id: event.id,
            type: "function",
            function: { name: event.name, arguments: "" },
          },
        ],
      });
    case "tool-arguments":
      return toChoice(index, {
        tool_calls: [{ index: event.index, function: { arguments: event.text } }],
      });
    case "finish":
      return { ...toChoice(index, {}), finish_reason: event.reason };
  }
}

const toChoice = (index: number, delta: Chunk["delta"]): Chunk => ({
  index,
  delta,
  logprobs: null,
  finish_reason: null,
});

function toLogprobs(logprobs: readonly TokenLogprobs[] | undefined): Logprobs {
  if (logprobs === undefined) return null;
  return {
    content: logprobs.map(({ top, ...token }) => ({
      ...toLogprob(token),
      top_logprobs: top.map(toLogprob),
    })),
    refusal: null,
  };
}

const toLogprob = ({ token, logprob, bytes }: TokenLogprob) => ({
  token,
  logprob,
  bytes: [...bytes],
});

/** Of several answers to one prompt the prompt counts once; what one had to evaluate was not cached. */
function toUsage(usages: readonly TokenUsage[]): Usage {
  const sum = (of: (usage: TokenUsage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0);
  const prompt = usages[0]?.promptTokens ?? 0;
  const completion = sum(({ completionTokens }) => completionTokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: Math.min(...usages.map(({ cachedTokens }) => cachedTokens)),
    },
    completion_tokens_details: {
      reasoning_tokens: sum(({ reasoningTokens }) => reasoningTokens),
    },
  };
}

function toRetrieval(grounding: Grounding): NonNullable<ChatCompletion["retrieval"]> {
  const { points, dropped, carried, error, notice } = grounding;
  return {
    points: points.map((point) => ({
      source: point.source,
      score: point.score,
      metadata: toPointMetadata(point),
    })),
    dropped,
    ...(carried === 0 ? {} : { carried }),
    ...given({ error: error === undefined ? undefined : redactPaths(error), notice }),
  };
}

const unfinished = (): NodeError =>
  new NodeError("internal", "The model's answer ended without a reason.");
