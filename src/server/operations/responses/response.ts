/** One response from the answer's first event to its end, whole or as the events of a stream. */
import { unfinished } from "../../../core/chat/answer-parts.ts";
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type { NodeError } from "../../../core/errors.ts";
import { given } from "../../../core/given.ts";
import type { FinishReason, TokenUsage } from "../../../core/ports/chat-engine.ts";
import { toFailure } from "../../../core/responses/background-responses.ts";
import { errorBody } from "../../middleware/errors.ts";
import { namedEvent } from "../../sse.ts";
import { toRetrievalReport } from "../../wire/answer.ts";
import { secondsNow } from "../../wire/unix-time.ts";
import { conversationOf } from "./conversation.ts";
import type { FileSearchAnswer } from "./file-search.ts";
import { cutShort, type ItemEvent, type OutputOptions, OutputWriter } from "./output.ts";
import type { ResponseRequest } from "./request-schema.ts";
import type { OutputItem, ResponseObject, ResponseUsage } from "./schema.ts";

interface RunOptions extends OutputOptions {
  /** A search that was made for it. */
  search: FileSearchAnswer | undefined;
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
    const { code, message, param } = errorBody(error).error;
    const response: ResponseObject = {
      ...this.#begun,
      output: this.#writer.items,
      status: "failed",
      // There is no answer to go on from.
      store: false,
      error: { code: toFailure(error).code, message },
    };
    return (
      this.#numbered({ type: "error", code, message, param }) +
      this.#numbered({ type: "response.failed", response })
    );
  }

  async *#events(): AsyncGenerator<ItemEvent> {
    let isBegun = false;
    for await (const { value } of this.#answer.events) {
      if (!isBegun) yield* this.#beginning();
      isBegun = true;
      yield* this.#writer.take(value);
    }
    const { finish } = this.#writer.whole();
    const ended = endedResponse(this.#begun, this.#writer.items, finish);
    const response = await this.#options.settle(ended);
    const isCut = cutShort(finish.reason) !== undefined;
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

export interface ResponseFacts {
  id: string;
  /** Unix time in seconds. */
  createdAt: number;
  body: ResponseRequest;
  /** Whether it is stored. */
  isStored: boolean;
}

/** Before anything has come of it. */
export function begunResponse(
  facts: ResponseFacts,
  status: "queued" | "in_progress",
): ResponseObject {
  const { id, createdAt, body, isStored } = facts;
  const conversation = conversationOf(body);
  return {
    id,
    object: "response",
    created_at: createdAt,
    completed_at: null,
    status,
    error: null,
    incomplete_details: null,
    model: body.model,
    instructions: body.instructions ?? null,
    output: [],
    usage: null,
    previous_response_id: body.previous_response_id ?? null,
    ...(conversation === undefined ? {} : { conversation: { id: conversation } }),
    background: body.background ?? false,
    store: isStored,
    metadata: body.metadata ?? {},
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    top_logprobs: body.top_logprobs ?? 0,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    text: { format: body.text?.format ?? { type: "text" } },
    reasoning: { effort: null, summary: null },
    truncation: body.truncation ?? "disabled",
    service_tier: "default",
  };
}

/** What is known of the model and its passages once the answer has begun. */
export const answeredBy = ({
  model,
  fingerprint,
  grounding,
}: Pick<ChatAnswer, "model" | "fingerprint" | "grounding">): Partial<ResponseObject> => ({
  model,
  system_fingerprint: fingerprint,
  ...given({ retrieval: grounding && toRetrievalReport(grounding) }),
});

function endedResponse(
  begun: ResponseObject,
  output: OutputItem[],
  { reason, usage }: { reason: FinishReason; usage: TokenUsage },
): ResponseObject {
  const cut = cutShort(reason);
  return {
    ...begun,
    status: cut === undefined ? "completed" : "incomplete",
    completed_at: cut === undefined ? secondsNow() : null,
    incomplete_details: cut === undefined ? null : { reason: cut },
    output,
    usage: toResponseUsage(usage),
  };
}

const toResponseUsage = (usage: TokenUsage): ResponseUsage => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.promptTokens + usage.completionTokens,
});
