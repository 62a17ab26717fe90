/** Converts an answer to a chat completion of the OpenAI API, complete or in chunks. */
import { type AnswerPart, readWhole, unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import type {
  FinishReason,
  GenerationEvent,
  TokenLogprobs,
  TokenUsage,
} from "../../../core/ports/chat-engine.ts";
import { toRetrievalReport } from "../../wire/answer.ts";
import { ChunkWriter, newHead, toLogprobs, toUsage } from "../../wire/completion.ts";
import type { ChatCompletion, ChatCompletionChunk } from "./schema.ts";

interface AnswerForm {
  includeUsage: boolean;
  /** Whether calls are sent as `function_call`, the form before `tools` existed. */
  isOlder: boolean;
}

type Choice = ChatCompletion["choices"][number];
type Message = Choice["message"];
type Chunk = ChatCompletionChunk["choices"][number];

export async function toChatCompletion(
  answer: ChatAnswer,
  { isOlder }: AnswerForm,
): Promise<ChatCompletion> {
  const head = newHead("chatcmpl", "chat.completion", answer);
  const { grounding } = answer;
  const finished = await readWhole(answer);
  return {
    ...head,
    choices: finished.map(({ parts, finish }, index) => ({
      index,
      message: isOlder ? inOlderForm(toMessage(parts)) : toMessage(parts),
      logprobs: toChoiceLogprobs(logprobsOf(parts)),
      finish_reason: toReason(finish.reason, isOlder),
    })),
    usage: toUsage(finished.map(({ finish }) => finish.usage)),
    ...given({ retrieval: grounding && toRetrievalReport(grounding) }),
  };
}

function toMessage(parts: readonly AnswerPart[]): Message {
  const content = textOf(parts, "text");
  const reasoning = textOf(parts, "reasoning");
  const calls = parts.flatMap((part) => {
    if (part.type !== "call") return [];
    const { id, name, text } = part;
    return [{ id, type: "function" as const, function: { name, arguments: text } }];
  });
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

const textOf = (parts: readonly AnswerPart[], type: AnswerPart["type"]): string =>
  parts.map((part) => (part.type === type ? part.text : "")).join("");

function logprobsOf(parts: readonly AnswerPart[]): TokenLogprobs[] | undefined {
  const scored = parts.flatMap((part) => (part.type === "text" ? (part.logprobs ?? []) : []));
  const isScored = parts.some((part) => part.type === "text" && part.logprobs !== undefined);
  return isScored ? scored : undefined;
}

function inOlderForm({ tool_calls: calls, ...message }: Message): Message {
  const call = calls?.[0]?.function;
  return call === undefined ? message : { ...message, function_call: call };
}

const toReason = (reason: FinishReason, isOlder: boolean): Choice["finish_reason"] =>
  isOlder && reason === "tool_calls" ? "function_call" : reason;

/** The chunks of a streamed completion, as JSON; the first is sent with the first event. */
export async function* toChunks(
  answer: ChatAnswer,
  { includeUsage, isOlder }: AnswerForm,
): AsyncGenerator<string> {
  const { choices, grounding, events } = answer;
  const writer = new ChunkWriter<Chunk>(
    newHead("chatcmpl", "chat.completion.chunk", answer),
    includeUsage,
  );
  const retrieval = given({ retrieval: grounding && toRetrievalReport(grounding) });
  const opened = new Set<number>();
  const usages: TokenUsage[] = [];
  for await (const { index, value: event } of events) {
    if (!opened.has(index))
      yield writer.choice(toChoice(index, { role: "assistant", content: "" }));
    opened.add(index);
    if (event.type === "finish") usages.push(event.usage);
    const isLast = event.type === "finish" && usages.length === choices && !includeUsage;
    const choice = toChunkChoice(index, event, isOlder);
    yield writer.choice(choice, isLast ? retrieval : undefined);
  }
  if (usages.length < choices) throw unfinished();
  if (includeUsage) yield writer.usage(toUsage(usages), retrieval);
}

function toChunkChoice(index: number, event: GenerationEvent, isOlder: boolean): Chunk {
  switch (event.type) {
    case "text": {
      const choice = toChoice(index, { role: "assistant", content: event.text });
      return { ...choice, logprobs: toChoiceLogprobs(event.logprobs) };
    }
    case "reasoning":
      return toChoice(index, { role: "assistant", reasoning_content: event.text });
    case "tool-call": {
      const call = { name: event.name, arguments: "" };
      const begun = { index: event.index, id: event.id, type: "function" as const, function: call };
      const delta = isOlder ? { function_call: call } : { tool_calls: [begun] };
      return toChoice(index, { role: "assistant", ...delta });
    }
    case "tool-arguments": {
      const call = { arguments: event.text };
      return toChoice(
        index,
        isOlder
          ? { function_call: call }
          : { tool_calls: [{ index: event.index, function: call }] },
      );
    }
    case "finish":
      return { ...toChoice(index, {}), finish_reason: toReason(event.reason, isOlder) };
  }
}

const toChoice = (index: number, delta: Chunk["delta"]): Chunk => ({
  index,
  delta,
  logprobs: null,
  finish_reason: null,
});

const toChoiceLogprobs = (logprobs: readonly TokenLogprobs[] | undefined): Choice["logprobs"] =>
  logprobs === undefined ? null : { content: toLogprobs(logprobs), refusal: null };
