/** Chat with a model that runs elsewhere, over the OpenAI API. */
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type {
  CallOptions,
  ChatEngine,
  ChatMessage,
  GenerationEvent,
  GenerationRequest,
  Tool,
} from "../core/ports/chat-engine.ts";
import { openResponse } from "./ask.ts";
import { toChatBody } from "./chat-request.ts";
import { promptPrefix } from "./prompt-prefix.ts";
import type { ReplicaLease } from "./replicas/replica.ts";
import type { ServerKind } from "./server-kind.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import { TokenEstimate } from "./token-estimate.ts";
import type { ChatCounter } from "./tokenizer.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

export interface UpstreamChatOptions {
  kind: ServerKind;
  contextSize: number;
  /** Absent: tokens are estimated. */
  count?: ChatCounter;
}

/** No tokenizer has tokens of so many bytes all along. */
const mostBytesPerToken = 128;

export class UpstreamChatEngine implements ChatEngine {
  readonly contextSize: number;
  readonly #target: UpstreamTarget;
  readonly #kind: ServerKind;
  readonly #count: ChatCounter | undefined;
  readonly #estimate = new TokenEstimate();
  readonly #closing = new AbortController();
  #hasToldOfUsage = false;

  constructor(target: UpstreamTarget, { kind, contextSize, count }: UpstreamChatOptions) {
    this.contextSize = contextSize;
    this.#target = target;
    this.#kind = kind;
    this.#count = count;
  }

  async countTokens(
    messages: readonly ChatMessage[],
    tools: readonly Tool[] = [],
    { signal = new AbortController().signal }: { signal?: AbortSignal } = {},
  ): Promise<number> {
    if (this.#isTooLong(messages)) return Number.POSITIVE_INFINITY;
    if (this.#count === undefined) return this.#estimate.ofChat(messages, tools);
    return await this.#count(messages, tools, this.#untilClosed(signal));
  }

  async *generate(
    request: GenerationRequest,
    { signal: wanted, prefixScope, onStart }: CallOptions,
  ): AsyncGenerator<GenerationEvent> {
    const signal = this.#untilClosed(wanted);
    signal.throwIfAborted();
    const { upstreamModel: model } = this.#target;
    const { messages, toolUse } = request;
    if (this.#isTooLong(messages)) throw tooLong(this.contextSize);
    const tools = toolUse?.tools ?? [];
    const server = { model, kind: this.#kind, contextSize: this.contextSize };
    const body = toChatBody(request, { ...server, ...given({ prefixScope }) });
    const prefix = promptPrefix(messages, { model, scope: prefixScope });
    const promptTokens = this.#estimate.ofChat(messages, tools);
    let waits = true;
    const start = (): void => {
      if (waits) onStart?.(promptTokens);
      waits = false;
    };
    const choice = { prefix, isRepeatable: true, signal };
    using answer = await this.#target.replicas.attempt(choice, (lease) =>
      this.#begin(body, lease, signal, start),
    );
    for await (const event of answer.events(promptTokens, signal)) {
      if (event.type === "finish") {
        if (answer.isCounted) this.#estimate.learn(messages, tools, event.usage.promptTokens);
        else this.#tellOfUsage();
      }
      yield event;
    }
  }

  /** Ends every answer. */
  close(): void {
    this.#closing.abort(new NodeError("unavailable", "The model is being unloaded."));
  }

  async #begin(
    body: ReturnType<typeof toChatBody>,
    lease: ReplicaLease,
    signal: AbortSignal,
    start: () => void,
  ): Promise<StreamedAnswer> {
    const question = { path: "/chat/completions", body, field: "messages" } as const;
    const response = await openResponse(this.#target, question, lease, signal);
    using resources = new DisposableStack();
    resources.use(response);
    start();
    const answer = new StreamedAnswer(this.#target, lease, response);
    await answer.begin();
    resources.move();
    return answer;
  }

  /** Without being counted. */
  #isTooLong(messages: readonly ChatMessage[]): boolean {
    const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
    return characters > this.contextSize * mostBytesPerToken;
  }

  #untilClosed(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closing.signal]);
  }

  #tellOfUsage(): void {
    if (this.#hasToldOfUsage) return;
    this.#hasToldOfUsage = true;
    const { named, log } = this.#target;
    log.warn("a server elsewhere does not count tokens; they are estimated", { of: named });
  }
}

const tooLong = (contextSize: number): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `The messages have more tokens than this model's context of ${contextSize} holds. Shorten the messages.`,
    { param: "messages" },
  );
