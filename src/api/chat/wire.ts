/** Chat between the wire and the domain: pure functions, no HTTP. */
import type { ChatAnswer, ChatRequest } from "../../core/chat.ts";
import { NodeError } from "../../core/errors.ts";
import type { GenerationEvent, Sampling, TokenUsage } from "../../core/ports/chat-engine.ts";
import { toChatMessages } from "../message-schema.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  Usage,
} from "./schema.ts";

export function toChatRequest(body: ChatCompletionRequest): ChatRequest {
  const maxTokens = body.max_completion_tokens ?? body.max_tokens;
  return {
    model: body.model,
    messages: toChatMessages(body.messages),
    sampling: toSampling(body),
    ...(typeof maxTokens === "number" ? { maxTokens } : {}),
  };
}

function toSampling(body: ChatCompletionRequest): Partial<Sampling> {
  const { temperature, top_p, presence_penalty, frequency_penalty } = body;
  return {
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(typeof top_p === "number" ? { topP: top_p } : {}),
    ...(typeof presence_penalty === "number" ? { presencePenalty: presence_penalty } : {}),
    ...(typeof frequency_penalty === "number" ? { frequencyPenalty: frequency_penalty } : {}),
  };
}

/** What every part of one completion shares. */
export interface CompletionHead {
  id: string;
  created: number;
}

export function newCompletionHead(): CompletionHead {
  return { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000) };
}

export async function toChatCompletion(
  { id, created }: CompletionHead,
  { model, fingerprint, events }: ChatAnswer,
): Promise<ChatCompletion> {
  let content = "";
  for await (const event of events) {
    if (event.type === "text") {
      content += event.text;
      continue;
    }
    return {
      id,
      object: "chat.completion",
      created,
      model,
      system_fingerprint: fingerprint,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content },
          logprobs: null,
          finish_reason: event.reason,
        },
      ],
      usage: toUsage(event.usage),
    };
  }
  throw unfinished();
}

/** The chunks of a streamed completion, as JSON; the first comes with the first event. */
export async function* toChunks(
  { id, created }: CompletionHead,
  { model, fingerprint, events }: ChatAnswer,
  includeUsage: boolean,
): AsyncGenerator<string> {
  const chunk = (
    choices: ChatCompletionChunk["choices"],
    usage: ChatCompletionChunk["usage"] = null,
  ): string =>
    JSON.stringify({
      id,
      object: "chat.completion.chunk",
      created,
      model,
      system_fingerprint: fingerprint,
      choices,
      ...(includeUsage ? { usage } : {}),
    } satisfies ChatCompletionChunk);
  let opened = false;
  for await (const event of events) {
    if (!opened) yield chunk([toTextChoice("")]);
    opened = true;
    yield chunk([toChoice(event)]);
    if (event.type !== "finish") continue;
    if (includeUsage) yield chunk([], toUsage(event.usage));
    return;
  }
  throw unfinished();
}

function toChoice(event: GenerationEvent): ChatCompletionChunk["choices"][number] {
  if (event.type === "text") return toTextChoice(event.text);
  return { index: 0, delta: {}, logprobs: null, finish_reason: event.reason };
}

const toTextChoice = (content: string): ChatCompletionChunk["choices"][number] => ({
  index: 0,
  delta: { role: "assistant", content },
  logprobs: null,
  finish_reason: null,
});

function toUsage({ promptTokens, completionTokens }: TokenUsage): Usage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

const unfinished = (): NodeError =>
  new NodeError("internal", "The model's answer ended without a reason.");
