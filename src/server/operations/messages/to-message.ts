/** An answer's events as a message of Anthropic's API, whole or as events. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import type { Finish, TokenUsage } from "../../../core/ports/chat-engine.ts";
import { namedEvent } from "../../sse.ts";
import { unfinished } from "../../wire/broken-answer.ts";
import { toRetrievalReport } from "../../wire/retrieval-report.ts";
import type { DeltaUsage, Message, MessageEvent } from "./answer-schema.ts";
import { ContentBlocks } from "./content-blocks.ts";
import { type EndBounds, toEnd } from "./to-end.ts";
import { WholeContent } from "./whole-content.ts";
import type { Thoughts } from "./wire.ts";

export interface MessageOptions extends EndBounds {
  thoughts: Thoughts;
  /** What the prompt has, known when the answer begins. */
  promptTokens: () => number;
}

export async function toMessage(answer: ChatAnswer, options: MessageOptions): Promise<Message> {
  const blocks = new ContentBlocks(options.thoughts);
  const whole = new WholeContent();
  let finish: Finish | undefined;
  for await (const { value: event } of answer.events) {
    for (const block of blocks.take(event)) whole.take(block);
    if (event.type === "finish") finish = event;
  }
  if (finish === undefined) throw unfinished();
  const end = toEnd(finish, options);
  const isCut = end.stop_reason === "max_tokens" || end.stop_reason === cutByContext;
  return {
    ...newMessage(answer, finish.usage),
    content: whole.content({ isCut }),
    ...end,
  };
}

const cutByContext = "model_context_window_exceeded";

/** The events of a streamed message; the first comes with the answer's first. */
export async function* toEvents(
  answer: ChatAnswer,
  options: MessageOptions,
): AsyncGenerator<string> {
  const blocks = new ContentBlocks(options.thoughts);
  let begins = true;
  let isAlive = false;
  let finish: Finish | undefined;
  for await (const { value: event } of answer.events) {
    if (begins) {
      const message = newMessage(answer, { ...noUsage, promptTokens: options.promptTokens() });
      yield written({ type: "message_start", message });
      begins = false;
    }
    for (const block of blocks.take(event)) {
      yield written(block);
      if (!isAlive) yield written({ type: "ping" });
      isAlive = true;
    }
    if (event.type === "finish") finish = event;
  }
  if (finish === undefined) throw unfinished();
  const usage = toDeltaUsage(finish.usage);
  yield written({ type: "message_delta", delta: toEnd(finish, options), usage });
  yield written({ type: "message_stop" });
}

const written = (event: MessageEvent): string => namedEvent(event.type, event);

const noUsage: TokenUsage = {
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
};

function newMessage({ model, grounding }: ChatAnswer, usage: TokenUsage): Message {
  return {
    id: `msg_${crypto.randomUUID().replaceAll("-", "")}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      ...toDeltaUsage(usage),
      cache_creation: null,
      inference_geo: null,
      service_tier: "standard",
      speed: null,
    },
    ...given({ retrieval: grounding && toRetrievalReport(grounding) }),
  };
}

/** A prompt's tokens are in one of the counts, never in two. */
function toDeltaUsage(usage: TokenUsage): DeltaUsage {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}
