/** One response from the answer's first event to its end, whole or as the events of a stream. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type { NodeError } from "../../../core/errors.ts";
import type { Finish } from "../../../core/ports/chat-engine.ts";
import { namedEvent } from "../../sse.ts";
import { unfinished } from "../../wire/broken-answer.ts";
import { failedResponse, failureEvents } from "./failure.ts";
import type { FileSearchAnswer } from "./file-search.ts";
import type { ItemEvent } from "./item-writers.ts";
import { type OutputOptions, OutputWriter } from "./output-writer.ts";
import { cutShort, endedResponse } from "./response-body.ts";
import type { ResponseObject } from "./schema.ts";

export interface RunOptions extends OutputOptions {
  /** A search that was made for it. */
  search: FileSearchAnswer | undefined;
  /** The error with this API's names. */
  rename: (error: unknown) => unknown;
  /** Called when the response is whole, before anybody is told; returns what is told. */
  settle: (response: ResponseObject) => Promise<ResponseObject>;
}

export class ResponseRun {
  readonly #begun: ResponseObject;
  readonly #answer: Pick<ChatAnswer, "events">;
  readonly #options: RunOptions;
  readonly #writer: OutputWriter;
  #number = 0;

  constructor(begun: ResponseObject, answer: Pick<ChatAnswer, "events">, options: RunOptions) {
    this.#begun = begun;
    this.#answer = answer;
    this.#options = options;
    this.#writer = new OutputWriter(options);
  }

  async whole(): Promise<ResponseObject> {
    let response: ResponseObject | undefined;
    for await (const event of this.#events()) {
      if (event.type === "response.completed" || event.type === "response.incomplete") {
        response = event.response;
      }
    }
    if (response === undefined) throw unfinished();
    return response;
  }

  /** Each as it goes over the wire; the first comes with the answer's first event. */
  async *streamed(): AsyncGenerator<string> {
    for await (const event of this.#events()) yield this.#numbered(event);
  }

  /** What ends a stream that has begun. */
  failed(error: NodeError): string {
    const failed = failedResponse({ ...this.#begun, output: this.#writer.items }, error);
    return failureEvents(failed, error)
      .map((event) => this.#numbered(event))
      .join("");
  }

  async *#events(): AsyncGenerator<ItemEvent> {
    let finish: Finish | undefined;
    let isBegun = false;
    try {
      for await (const { value } of this.#answer.events) {
        if (!isBegun) yield* this.#beginning();
        isBegun = true;
        if (value.type === "finish") finish = value;
        else yield* this.#writer.take(value);
      }
    } catch (error) {
      throw this.#options.rename(error);
    }
    if (finish === undefined) throw unfinished();
    const isCut = cutShort(finish.reason) !== undefined;
    yield* this.#writer.end(isCut ? "incomplete" : "completed");
    const response = await this.#options.settle(
      endedResponse(this.#begun, this.#writer.items, finish),
    );
    yield { type: isCut ? "response.incomplete" : "response.completed", response };
  }

  *#beginning(): Generator<ItemEvent> {
    yield { type: "response.created", response: this.#begun };
    yield { type: "response.in_progress", response: this.#begun };
    const { search } = this.#options;
    if (search !== undefined) yield* this.#writer.searched(search);
  }

  #numbered(event: ItemEvent): string {
    const { type, ...fields } = event;
    return namedEvent(type, { type, sequence_number: this.#number++, ...fields });
  }
}
