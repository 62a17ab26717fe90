/** Converts an answer to a message of Anthropic's API, complete or as events. */
import { type AnswerPart, AnswerParts, unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import { JsonSize } from "../../../core/json-size.ts";
import type { Finish, GenerationEvent, TokenUsage } from "../../../core/ports/chat-engine.ts";
import { namedEvent } from "../../event-format.ts";
import { parsedArguments, toRetrievalReport } from "../../wire/answer.ts";
import type {
  ContentBlock,
  Delta,
  DeltaUsage,
  Message,
  MessageEvent,
  StopReason,
} from "./answer-schema.ts";
import type { Thoughts } from "./request.ts";

interface MessageOptions extends EndBounds {
  thoughts: Thoughts;
  /** The prompt's tokens, known when the answer begins. */
  promptTokens: () => number;
}

export async function toMessage(answer: ChatAnswer, options: MessageOptions): Promise<Message> {
  const blocks = new ContentBlocks(options.thoughts);
  for await (const { value: event } of answer.events) blocks.take(event);
  const { content, finish } = blocks.whole();
  return { ...newMessage(answer, finish.usage), content, ...toEnd(finish, options) };
}

/** The events of a streamed message; the first is sent with the answer's first event. */
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

export function newMessage(
  { model, grounding }: Pick<ChatAnswer, "model" | "grounding">,
  usage: TokenUsage,
): Message {
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

/** Each prompt token is in exactly one of the counts. */
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

type BlockEvent = Extract<MessageEvent, { type: `content_block_${string}` }>;

export class ContentBlocks {
  readonly #thoughts: Thoughts;
  readonly #parts = new AnswerParts({ isInOrder: true });

  constructor(thoughts: Thoughts) {
    this.#thoughts = thoughts;
  }

  take(event: GenerationEvent): BlockEvent[] {
    if (event.type === "reasoning" && this.#thoughts === "hidden") return [];
    const { ended, begun } = this.#parts.add(event);
    const index = this.#parts.all.length - 1;
    const deltas = this.#deltas(event).map((delta) => toDelta(index, delta));
    return [
      ...(ended === undefined ? [] : closing(ended, begun === undefined ? index : index - 1)),
      ...(begun === undefined ? [] : [opening(begun, index)]),
      ...deltas,
    ];
  }

  whole(): { content: ContentBlock[]; finish: Finish } {
    const { parts, finish } = this.#parts.whole();
    const isCut = finish.reason === "length";
    const size = new JsonSize();
    return { content: parts.map((part) => this.#block(part, isCut, size)), finish };
  }

  #deltas(event: GenerationEvent): Delta[] {
    switch (event.type) {
      case "text":
        return [{ type: "text_delta", text: event.text }];
      case "reasoning":
        return this.#thoughts === "omitted"
          ? []
          : [{ type: "thinking_delta", thinking: event.text }];
      case "tool-arguments":
        return [{ type: "input_json_delta", partial_json: event.text }];
      default:
        return [];
    }
  }

  #block(part: AnswerPart, isCut: boolean, size: JsonSize): ContentBlock {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text };
      case "reasoning": {
        const thinking = this.#thoughts === "omitted" ? "" : part.text;
        return { type: "thinking", thinking, signature: signatureOf(part.text) };
      }
      case "call":
        // The input of a truncated call is empty; the message's `stop_reason` says why.
        return toToolUse(part, parsedArguments(part, isCut, size) ?? {});
    }
  }
}

function opening(part: AnswerPart, index: number): BlockEvent {
  const content_block: ContentBlock =
    part.type === "call"
      ? toToolUse(part, {})
      : part.type === "text"
        ? { type: "text", text: "" }
        : { type: "thinking", thinking: "", signature: "" };
  return { type: "content_block_start", index, content_block };
}

function closing(part: AnswerPart, index: number): BlockEvent[] {
  const stop: BlockEvent = { type: "content_block_stop", index };
  if (part.type !== "reasoning") return [stop];
  return [toDelta(index, { type: "signature_delta", signature: signatureOf(part.text) }), stop];
}

const toDelta = (index: number, delta: Delta): BlockEvent => ({
  type: "content_block_delta",
  index,
  delta,
});

const toToolUse = ({ id, name }: { id: string; name: string }, input: unknown): ContentBlock => ({
  type: "tool_use",
  id,
  name,
  input,
  caller: { type: "direct" },
});

/** Clients only send back signed thoughts, and models do not sign theirs. */
const signatureOf = (thoughts: string): string =>
  new Bun.CryptoHasher("sha256").update(thoughts).digest("base64url");

interface EndBounds {
  /** The caller's own stop sequences; others may have ended the answer too. */
  stops: readonly string[];
  maxTokens: number;
  contextSize: number;
}

type End = Pick<Message, "stop_reason" | "stop_sequence" | "stop_details" | "container">;

export function toEnd(finish: Finish, bounds: EndBounds): End {
  const { stop } = finish;
  const met = stop !== undefined && bounds.stops.includes(stop) ? stop : null;
  const reason = toStopReason(finish, met, bounds);
  return {
    stop_reason: reason,
    stop_sequence: reason === "stop_sequence" ? met : null,
    stop_details:
      reason === "refusal" ? { type: "refusal", category: null, explanation: null } : null,
    container: null,
  };
}

function toStopReason(
  { reason, usage }: Finish,
  met: string | null,
  bounds: EndBounds,
): StopReason {
  switch (reason) {
    case "stop":
      return met === null ? "end_turn" : "stop_sequence";
    case "tool_calls":
      return "tool_use";
    case "content_filter":
      return "refusal";
    case "length": {
      const { promptTokens, completionTokens } = usage;
      const isFull = promptTokens + completionTokens >= bounds.contextSize;
      return isFull && completionTokens < bounds.maxTokens
        ? "model_context_window_exceeded"
        : "max_tokens";
    }
  }
}
