/** Converts an answer to the items of a response, and each step to the API's events. */
import { type AnswerPart, AnswerParts, unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type { NodeError } from "../../../core/errors.ts";
import type { Finish, FinishReason, GenerationEvent } from "../../../core/ports/chat-engine.ts";
import { toFailure } from "../../../core/responses/background-responses.ts";
import { namedEvent } from "../../event-format.ts";
import { errorBody } from "../../middleware/errors.ts";
import { toLogprobs } from "../../wire/completion.ts";
import { secondsNow } from "../../wire/fields.ts";
import type { FileSearchAnswer } from "./file-search.ts";
import type {
  Annotation,
  FileSearchCall,
  OutputItem,
  OutputText,
  ResponseObject,
  ResponseStreamEvent,
} from "./schema.ts";
import type { WireName } from "./tools.ts";

type ItemEvent = WithoutNumber<ResponseStreamEvent>;
type WithoutNumber<Event> = Event extends unknown ? Omit<Event, "sequence_number"> : never;

type ItemKind = "msg" | "fc" | "rs" | "fs";
type ItemStatus = "in_progress" | "completed" | "incomplete";

interface RunOptions {
  itemId: (kind: ItemKind, index: number) => string;
  wireName: (name: string) => WireName;
  withLogprobs: boolean;
  /** Called once for each text of the answer. */
  annotate: (text: string) => Annotation[];
  search: FileSearchAnswer | undefined;
  /** Called with the complete response before it is sent; returns the response to send. */
  settle: (response: ResponseObject) => Promise<ResponseObject>;
}

type TextPart = Omit<Extract<AnswerPart, { type: "text" }>, "type">;

interface ItemPlace {
  item_id: string;
  output_index: number;
}

/** The events that end a started stream after a failure. `from`: the number of the first. */
export function failedEvents(begun: ResponseObject, error: NodeError, from = 0): string {
  const { code, message, param } = errorBody(error).error;
  const response: ResponseObject = {
    ...begun,
    status: "failed",
    // There is no answer to continue from.
    store: false,
    error: { code: toFailure(error).code, message },
  };
  return (
    numbered({ type: "error", code, message, param }, from) +
    numbered({ type: "response.failed", response }, from + 1)
  );
}

function numbered({ type, ...fields }: ItemEvent, sequence_number: number): string {
  return namedEvent(type, { type, sequence_number, ...fields });
}

/** Runs one response to its end, as a complete object or as a stream of events. */
export class ResponseRun {
  readonly #begun: ResponseObject;
  readonly #answer: Pick<ChatAnswer, "events">;
  readonly #options: RunOptions;
  readonly #parts = new AnswerParts({ isInOrder: true });
  readonly #items: OutputItem[] = [];
  #place: ItemPlace = { item_id: "", output_index: 0 };
  #number = 0;

  constructor(begun: ResponseObject, answer: Pick<ChatAnswer, "events">, options: RunOptions) {
    this.#begun = begun;
    this.#answer = answer;
    this.#options = options;
  }

  async whole(): Promise<ResponseObject> {
    for await (const { type, ...event } of this.#events()) {
      const isWhole = type === "response.completed" || type === "response.incomplete";
      if (isWhole && "response" in event) return event.response;
    }
    throw unfinished();
  }

  /** Serialized events; the first is sent with the answer's first event. */
  async *streamed(): AsyncGenerator<string> {
    for await (const event of this.#events()) yield numbered(event, this.#number++);
  }

  /** The events that end a started stream after a failure. */
  failed(error: NodeError): string {
    return failedEvents({ ...this.#begun, output: [...this.#items] }, error, this.#number);
  }

  async *#events(): AsyncGenerator<ItemEvent> {
    let isBegun = false;
    for await (const { value } of this.#answer.events) {
      if (!isBegun) yield* this.#beginning();
      isBegun = true;
      yield* this.#take(value);
    }
    const { finish } = this.#parts.whole();
    const ended = endedResponse(this.#begun, this.#items, finish);
    const response = await this.#options.settle(ended);
    const isCut = cutShort(finish.reason) !== undefined;
    yield { type: isCut ? "response.incomplete" : "response.completed", response };
  }

  *#beginning(): Generator<ItemEvent> {
    yield { type: "response.created", response: this.#begun };
    yield { type: "response.in_progress", response: this.#begun };
    const { search } = this.#options;
    if (search !== undefined) yield* this.#searched(search);
  }

  /** A search that was made before the answer began. */
  #searched(call: FileSearchAnswer): ItemEvent[] {
    const at = this.#next("fs");
    const done: FileSearchCall = { type: "file_search_call", id: at.item_id, ...call };
    const begun: FileSearchCall = { ...done, status: "in_progress", queries: [], results: null };
    this.#items.push(done);
    const { output_index } = at;
    const completed = { type: "response.file_search_call.completed", ...at } as const;
    return [
      { type: "response.output_item.added", output_index, item: begun },
      { type: "response.file_search_call.in_progress", ...at },
      { type: "response.file_search_call.searching", ...at },
      ...(call.status === "completed" ? [completed] : []),
      { type: "response.output_item.done", output_index, item: done },
    ];
  }

  #take(event: GenerationEvent): ItemEvent[] {
    if (event.type !== "finish") return this.#add(event, "completed");
    // An empty answer is an empty message.
    const isEmpty = this.#parts.all.length === 0;
    const begun = isEmpty ? this.#begin(this.#parts.add({ type: "text", text: "" }).begun) : [];
    return [...begun, ...this.#add(event, cutShort(event.reason) ? "incomplete" : "completed")];
  }

  /** `status`: the status of a part that ends with the event. */
  #add(event: GenerationEvent, status: ItemStatus): ItemEvent[] {
    const { ended, begun } = this.#parts.add(event);
    return [...this.#end(ended, status), ...this.#begin(begun), ...this.#delta(event)];
  }

  #begin(part: AnswerPart | undefined): ItemEvent[] {
    if (part === undefined) return [];
    this.#place = this.#next(part.type === "text" ? "msg" : part.type === "call" ? "fc" : "rs");
    const { output_index } = this.#place;
    const item = this.#item(part, "in_progress");
    const added: ItemEvent = { type: "response.output_item.added", output_index, item };
    if (part.type === "call") return [added];
    const at = { ...this.#place, content_index: 0 };
    const content =
      part.type === "reasoning"
        ? ({ type: "reasoning_text", text: "" } as const)
        : this.#text({ text: "", logprobs: undefined }, []);
    return [added, { type: "response.content_part.added", ...at, part: content }];
  }

  #delta(event: GenerationEvent): ItemEvent[] {
    const at = { ...this.#place, content_index: 0 };
    switch (event.type) {
      case "text": {
        const logprobs = toLogprobs(event.logprobs ?? []);
        return [{ type: "response.output_text.delta", ...at, delta: event.text, logprobs }];
      }
      case "reasoning":
        return [{ type: "response.reasoning_text.delta", ...at, delta: event.text }];
      case "tool-arguments":
        return [
          { type: "response.function_call_arguments.delta", ...this.#place, delta: event.text },
        ];
      default:
        return [];
    }
  }

  #end(part: AnswerPart | undefined, status: ItemStatus): ItemEvent[] {
    if (part === undefined) return [];
    const texts = part.type === "text" ? [this.#text(part, this.#options.annotate(part.text))] : [];
    const item = this.#item(part, status, texts);
    this.#items.push(item);
    const { output_index } = this.#place;
    return [...this.#done(part, texts), { type: "response.output_item.done", output_index, item }];
  }

  /** `texts`: the content of a message, which is one text. */
  #done(part: AnswerPart, texts: readonly OutputText[]): ItemEvent[] {
    const at = { ...this.#place, content_index: 0 };
    const { text } = part;
    if (part.type === "call") {
      return [{ type: "response.function_call_arguments.done", ...this.#place, arguments: text }];
    }
    if (part.type === "reasoning") {
      return [
        { type: "response.reasoning_text.done", ...at, text },
        { type: "response.content_part.done", ...at, part: { type: "reasoning_text", text } },
      ];
    }
    const type = "response.output_text.annotation.added";
    const logprobs = toLogprobs(part.logprobs ?? []);
    return texts.flatMap((whole): ItemEvent[] => [
      ...whole.annotations.map((annotation, annotation_index): ItemEvent => {
        return { type, ...at, annotation_index, annotation };
      }),
      { type: "response.output_text.done", ...at, text, logprobs },
      { type: "response.content_part.done", ...at, part: whole },
    ]);
  }

  #item(part: AnswerPart, status: ItemStatus, texts: OutputText[] = []): OutputItem {
    const id = this.#place.item_id;
    const isBegun = status === "in_progress";
    switch (part.type) {
      case "text":
        return { type: "message", id, status, role: "assistant", content: texts };
      case "reasoning": {
        const content = [{ type: "reasoning_text", text: part.text } as const];
        return { type: "reasoning", id, status, summary: [], content: isBegun ? [] : content };
      }
      case "call": {
        const name = this.#options.wireName(part.name);
        const { id: call_id, text } = part;
        return { type: "function_call", id, status, call_id, ...name, arguments: text };
      }
    }
  }

  #text({ text, logprobs }: TextPart, annotations: Annotation[]): OutputText {
    const { withLogprobs } = this.#options;
    const scores = withLogprobs ? { logprobs: toLogprobs(logprobs ?? []) } : {};
    return { type: "output_text", text, annotations, ...scores };
  }

  #next(kind: ItemKind): ItemPlace {
    const output_index = this.#items.length;
    return { item_id: this.#options.itemId(kind, output_index), output_index };
  }
}

function cutShort(
  reason: FinishReason,
): NonNullable<ResponseObject["incomplete_details"]>["reason"] | undefined {
  if (reason === "length") return "max_output_tokens";
  return reason === "content_filter" ? reason : undefined;
}

function endedResponse(
  begun: ResponseObject,
  output: OutputItem[],
  { reason, usage }: Finish,
): ResponseObject {
  const cut = cutShort(reason);
  return {
    ...begun,
    status: cut === undefined ? "completed" : "incomplete",
    completed_at: cut === undefined ? secondsNow() : null,
    incomplete_details: cut === undefined ? null : { reason: cut },
    output,
    usage: {
      input_tokens: usage.promptTokens,
      input_tokens_details: { cached_tokens: usage.cachedTokens },
      output_tokens: usage.completionTokens,
      output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      total_tokens: usage.promptTokens + usage.completionTokens,
    },
  };
}
