/** The events of a generation, written into the items of a response; each step is told as the API's events. */
import type { GenerationEvent } from "../../../core/ports/chat-engine.ts";
import { interleavedCalls } from "../../wire/broken-answer.ts";
import { toLogprobs } from "../../wire/logprobs.ts";
import type { FileSearchAnswer } from "./file-search.ts";
import {
  CallWriter,
  type EndStatus,
  type ItemEvent,
  type ItemPlace,
  type MessageOptions,
  MessageWriter,
  ReasoningWriter,
} from "./item-writers.ts";
import type { WireName } from "./namespaces.ts";
import type { FileSearchCall, OutputItem } from "./output-schema.ts";

type ItemKind = "msg" | "fc" | "rs" | "fs";

export interface OutputOptions extends MessageOptions {
  /** The id of an item, by its kind and its place. */
  itemId: (kind: ItemKind, index: number) => string;
  /** What the function is called on the wire that the model calls so. */
  wireName: (name: string) => WireName;
}

export class OutputWriter {
  readonly #options: OutputOptions;
  readonly #items: OutputItem[] = [];
  /** What is written now. */
  #open: MessageWriter | ReasoningWriter | CallWriter | undefined;
  /** Which call that is, where it is one. */
  #call: number | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Those that are whole. */
  get items(): OutputItem[] {
    return [...this.#items];
  }

  /** A search that was made before the answer began. */
  searched(call: FileSearchAnswer): ItemEvent[] {
    const at = this.#place("fs");
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

  take(event: Exclude<GenerationEvent, { type: "finish" }>): ItemEvent[] {
    switch (event.type) {
      case "text": {
        const { writer, events } = this.#message();
        return [...events, ...writer.write(event.text, toLogprobs(event.logprobs ?? []))];
      }
      case "reasoning": {
        const { writer, events } = this.#reasoning();
        return [...events, ...writer.write(event.text)];
      }
      case "tool-call": {
        const closed = this.#close("completed");
        const name = this.#options.wireName(event.name);
        const writer = new CallWriter(this.#place("fc"), { id: event.id, ...name });
        [this.#open, this.#call] = [writer, event.index];
        return [...closed, ...writer.begin()];
      }
      case "tool-arguments":
        if (this.#open instanceof CallWriter && this.#call === event.index) {
          return this.#open.write(event.text);
        }
        throw interleavedCalls();
    }
  }

  /** The last events; an answer that says nothing is an empty message. */
  end(status: EndStatus): ItemEvent[] {
    const isSaid = this.#items.some(({ type }) => type !== "file_search_call");
    const begun = this.#open === undefined && !isSaid ? this.#message().events : [];
    return [...begun, ...this.#close(status)];
  }

  #message(): { writer: MessageWriter; events: ItemEvent[] } {
    if (this.#open instanceof MessageWriter) return { writer: this.#open, events: [] };
    const closed = this.#close("completed");
    const writer = new MessageWriter(this.#place("msg"), this.#options);
    this.#open = writer;
    return { writer, events: [...closed, ...writer.begin()] };
  }

  #reasoning(): { writer: ReasoningWriter; events: ItemEvent[] } {
    if (this.#open instanceof ReasoningWriter) return { writer: this.#open, events: [] };
    const closed = this.#close("completed");
    const writer = new ReasoningWriter(this.#place("rs"));
    this.#open = writer;
    return { writer, events: [...closed, ...writer.begin()] };
  }

  #close(status: EndStatus): ItemEvent[] {
    if (this.#open === undefined) return [];
    const { item, events } = this.#open.end(status);
    this.#items.push(item);
    this.#open = undefined;
    return events;
  }

  #place(kind: ItemKind): ItemPlace {
    const output_index = this.#items.length;
    return { item_id: this.#options.itemId(kind, output_index), output_index };
  }
}
