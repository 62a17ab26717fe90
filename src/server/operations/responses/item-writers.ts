/** One item of a response while it is written: its events, and what it is in the end. */

import type { Logprobs } from "../../wire/logprobs.ts";
import type { ResponseStreamEvent } from "./event-schema.ts";
import type { WireName } from "./namespaces.ts";
import type {
  Annotation,
  FunctionCall,
  OutputMessage,
  OutputText,
  Reasoning,
} from "./output-schema.ts";

/** An event before it is numbered. */
export type ItemEvent = WithoutNumber<ResponseStreamEvent>;
type WithoutNumber<Event> = Event extends unknown ? Omit<Event, "sequence_number"> : never;

export type EndStatus = "completed" | "incomplete";

/** Where an item stands in the output. */
export interface ItemPlace {
  item_id: string;
  output_index: number;
}

export interface MessageOptions {
  /** Whether the tokens' log probabilities are part of the message. */
  withLogprobs: boolean;
  /** The passages that a text names. */
  annotate: (text: string) => readonly Annotation[];
}

export class MessageWriter {
  readonly #place: ItemPlace;
  readonly #options: MessageOptions;
  readonly #logprobs: Logprobs = [];
  #text = "";

  constructor(place: ItemPlace, options: MessageOptions) {
    this.#place = place;
    this.#options = options;
  }

  begin(): ItemEvent[] {
    const { output_index } = this.#place;
    const part = this.#part("", []);
    return [
      { type: "response.output_item.added", output_index, item: this.#item("in_progress", []) },
      { type: "response.content_part.added", ...this.#place, content_index: 0, part },
    ];
  }

  write(delta: string, logprobs: Logprobs): ItemEvent[] {
    this.#text += delta;
    this.#logprobs.push(...logprobs);
    const type = "response.output_text.delta";
    return [{ type, ...this.#place, content_index: 0, delta, logprobs }];
  }

  end(status: EndStatus): { item: OutputMessage; events: ItemEvent[] } {
    const at = { ...this.#place, content_index: 0 };
    const [text, logprobs] = [this.#text, this.#logprobs];
    const annotations = [...this.#options.annotate(text)];
    const part = this.#part(text, annotations);
    const item = this.#item(status, [part]);
    const named = annotations.map((annotation, annotation_index): ItemEvent => {
      return { type: "response.output_text.annotation.added", ...at, annotation_index, annotation };
    });
    const events: ItemEvent[] = [
      ...named,
      { type: "response.output_text.done", ...at, text, logprobs },
      { type: "response.content_part.done", ...at, part },
      { type: "response.output_item.done", output_index: at.output_index, item },
    ];
    return { item, events };
  }

  #part(text: string, annotations: Annotation[]): OutputText {
    const logprobs = this.#options.withLogprobs ? { logprobs: [...this.#logprobs] } : {};
    return { type: "output_text", text, annotations, ...logprobs };
  }

  #item(status: OutputMessage["status"], content: OutputText[]): OutputMessage {
    return { type: "message", id: this.#place.item_id, status, role: "assistant", content };
  }
}

export class ReasoningWriter {
  readonly #place: ItemPlace;
  #text = "";

  constructor(place: ItemPlace) {
    this.#place = place;
  }

  begin(): ItemEvent[] {
    const { output_index } = this.#place;
    const part = { type: "reasoning_text", text: "" } as const;
    return [
      { type: "response.output_item.added", output_index, item: this.#item("in_progress", []) },
      { type: "response.content_part.added", ...this.#place, content_index: 0, part },
    ];
  }

  write(delta: string): ItemEvent[] {
    this.#text += delta;
    const type = "response.reasoning_text.delta";
    return [{ type, ...this.#place, content_index: 0, delta }];
  }

  end(status: EndStatus): { item: Reasoning; events: ItemEvent[] } {
    const at = { ...this.#place, content_index: 0 };
    const part = { type: "reasoning_text", text: this.#text } as const;
    const item = this.#item(status, [part]);
    const events: ItemEvent[] = [
      { type: "response.reasoning_text.done", ...at, text: this.#text },
      { type: "response.content_part.done", ...at, part },
      { type: "response.output_item.done", output_index: at.output_index, item },
    ];
    return { item, events };
  }

  #item(status: Reasoning["status"], content: Reasoning["content"]): Reasoning {
    return { type: "reasoning", id: this.#place.item_id, status, summary: [], content };
  }
}

export class CallWriter {
  readonly #place: ItemPlace;
  readonly #call: WireName & { id: string };
  #text = "";

  constructor(place: ItemPlace, call: WireName & { id: string }) {
    this.#place = place;
    this.#call = call;
  }

  begin(): ItemEvent[] {
    const { output_index } = this.#place;
    return [{ type: "response.output_item.added", output_index, item: this.#item("in_progress") }];
  }

  write(delta: string): ItemEvent[] {
    this.#text += delta;
    return [{ type: "response.function_call_arguments.delta", ...this.#place, delta }];
  }

  end(status: EndStatus): { item: FunctionCall; events: ItemEvent[] } {
    const item = this.#item(status);
    const type = "response.function_call_arguments.done";
    const events: ItemEvent[] = [
      { type, ...this.#place, arguments: this.#text },
      { type: "response.output_item.done", output_index: this.#place.output_index, item },
    ];
    return { item, events };
  }

  #item(status: FunctionCall["status"]): FunctionCall {
    const { id: call_id, ...name } = this.#call;
    const type = "function_call";
    return { type, id: this.#place.item_id, status, call_id, ...name, arguments: this.#text };
  }
}
