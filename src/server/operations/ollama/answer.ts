/** Converts an answer to Ollama's, whole or as lines. */
import { type AnswerPart, AnswerParts, unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import { given } from "../../../core/given.ts";
import { JsonSize } from "../../../core/json-size.ts";
import type { Finish, TokenLogprobs } from "../../../core/ports/chat-engine.ts";
import type { RequestContext } from "../../request-context.ts";
import { parsedArguments, toRetrievalReport } from "../../wire/answer.ts";
import { toLogprobs } from "../../wire/completion.ts";
import type { Ending, OllamaChatAnswer, OllamaGenerateAnswer } from "./answer-schema.ts";

type ToolCalls = NonNullable<OllamaChatAnswer["message"]["tool_calls"]>;

/** What a line, or the whole answer, is made of. */
interface Content {
  text: string;
  thinking?: string;
  calls?: ToolCalls;
  logprobs?: readonly TokenLogprobs[];
}

/** Where an operation has the content. */
export type Form = (content: Content) => object;

export const inMessage: Form = ({ text, thinking, calls }) =>
  ({
    message: { role: "assistant", content: text, ...given({ thinking, tool_calls: calls }) },
  }) satisfies Pick<OllamaChatAnswer, "message">;

export const inResponse: Form = ({ text, thinking }) =>
  ({ response: text, ...given({ thinking }) }) satisfies Partial<OllamaGenerateAnswer>;

export interface AnswerOptions {
  /** The model's name as it was asked for. */
  model: string;
  form: Form;
  showsThoughts: boolean;
  /** Fields of the last line. */
  last?: object;
  times: () => RequestContext["times"];
}

/** The answer to a request that asks for nothing: the model is loaded, or not any more. */
export const loaded = (
  { model, form }: Pick<AnswerOptions, "model" | "form">,
  reason: "load" | "unload",
): object => toLine({ model, form }, { text: "" }, { done_reason: reason });

export async function toWhole(answer: ChatAnswer, options: AnswerOptions): Promise<object> {
  const parts = new AnswerParts({ isInOrder: true });
  for await (const { value: event } of answer.events) parts.add(event);
  const { parts: all, finish } = parts.whole();
  const calls = toCalls(all, finish, new JsonSize());
  const thinking = options.showsThoughts ? textOf(all, "reasoning") : "";
  const logprobs = all.flatMap((part) => (part.type === "text" ? (part.logprobs ?? []) : []));
  const content: Content = {
    text: textOf(all, "text"),
    ...(thinking === "" ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { calls }),
    ...(logprobs.length === 0 ? {} : { logprobs }),
  };
  return { ...toLine(options, content, toEnding(answer, finish, options)), ...options.last };
}

/** The lines of a streamed answer; a call is sent when it is complete. */
export async function* toLines(answer: ChatAnswer, options: AnswerOptions): AsyncGenerator<string> {
  const parts = new AnswerParts({ isInOrder: true });
  const line = (content: Content, ending?: Partial<Ending>): string =>
    JSON.stringify({ ...toLine(options, content, ending), ...(ending && options.last) });
  const size = new JsonSize();
  let finish: Finish | undefined;
  let sent = 0;
  for await (const { value: event } of answer.events) {
    const { ended } = parts.add(event);
    if (event.type === "finish") finish = event;
    if (ended?.type === "call") {
      const calls = toCalls([ended], finish, size, sent);
      sent += calls.length;
      if (calls.length > 0) yield line({ text: "", calls });
    }
    if (event.type === "text")
      yield line({ text: event.text, ...given({ logprobs: event.logprobs }) });
    if (event.type === "reasoning" && options.showsThoughts) {
      yield line({ text: "", thinking: event.text });
    }
  }
  if (finish === undefined) throw unfinished();
  yield line({ text: "" }, toEnding(answer, finish, options));
}

function toLine(
  { model, form }: Pick<AnswerOptions, "model" | "form">,
  content: Content,
  ending?: Partial<Ending>,
): object {
  const { logprobs } = content;
  return {
    model,
    created_at: new Date().toISOString(),
    ...form(content),
    done: ending !== undefined,
    ...given({ logprobs: logprobs && toLogprobs(logprobs) }),
    ...ending,
  };
}

const textOf = (parts: readonly AnswerPart[], type: AnswerPart["type"]): string =>
  parts.map((part) => (part.type === type ? part.text : "")).join("");

/** `size` counts the arguments of all calls. `before`: how many calls came before these. */
function toCalls(
  parts: readonly AnswerPart[],
  finish: Finish | undefined,
  size: JsonSize,
  before = 0,
): ToolCalls {
  const calls: ToolCalls = [];
  for (const part of parts) {
    if (part.type !== "call") continue;
    const sent = parsedArguments(part, finish?.reason === "length", size);
    if (sent === undefined) continue;
    const index = before + calls.length;
    calls.push({ id: part.id, function: { index, name: part.name, arguments: Object(sent) } });
  }
  return calls;
}

function toEnding(
  { grounding }: ChatAnswer,
  { reason, usage }: Finish,
  { times }: AnswerOptions,
): Partial<Ending> {
  const { queue = 0, retrieval = 0, first, total } = times();
  const began = first ?? total;
  return {
    // Ollama has no reason of its own for calls.
    done_reason: reason === "tool_calls" ? "stop" : reason,
    total_duration: nanoseconds(total),
    load_duration: nanoseconds(queue),
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: nanoseconds(began - queue - retrieval),
    eval_count: usage.completionTokens,
    eval_duration: nanoseconds(total - began),
    ...given({ retrieval: grounding && toRetrievalReport(grounding) }),
  };
}

export const nanoseconds = (ms: number): number => Math.max(0, Math.round(ms * 1e6));
