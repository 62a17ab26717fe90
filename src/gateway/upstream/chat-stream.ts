/** Streamed answer of an upstream server: read as the caller pulls, cancelled with the caller. */
import { sentError } from "../../client/api-error.ts";
import { endOfStream, eventData } from "../../client/event-stream.ts";
import { isObject, parseJson } from "../../client/json-fields.ts";
import { NodeError } from "../../core/errors.ts";
import type { GenerationEvent } from "../../core/ports/chat-engine.ts";
import type { ReplicaLease } from "../replicas/replica.ts";
import { BadAnswer, toNodeError, tooMuch, type Upstream } from "./ask.ts";
import { ChatChunks, type MostTokens } from "./chat-chunks.ts";
import { ConnectionFailure, type UpstreamResponse } from "./http-exchange.ts";
import { type Refused, statusOf, toRefusal } from "./refusal.ts";

export interface AskedAnswer {
  /** The field that holds the texts, for errors about their length. */
  field: Refused["field"];
  /** Tokens that were asked for, or that fit. */
  tokens: number;
  most: MostTokens;
  /** Alternatives per token; absent: no log probabilities were asked for. */
  topLogprobs?: number | undefined;
}

export class StreamedAnswer implements Disposable {
  readonly #upstream: Upstream;
  readonly #lease: ReplicaLease;
  readonly #response: UpstreamResponse;
  readonly #data: AsyncIterator<string[]>;
  readonly #chunks: ChatChunks;
  readonly #asked: AskedAnswer;
  readonly #signal: AbortSignal;
  #ready: GenerationEvent[] = [];
  #isOver = false;
  /** An error of the stream, thrown after the events that are ready. */
  #failure: Error | undefined;

  constructor(
    upstream: Upstream,
    lease: ReplicaLease,
    response: UpstreamResponse,
    asked: AskedAnswer,
    signal: AbortSignal,
  ) {
    this.#upstream = upstream;
    this.#lease = lease;
    this.#response = response;
    this.#asked = asked;
    this.#signal = signal;
    this.#chunks = new ChatChunks(asked.most);
    const bounds = answerBounds(asked.tokens, asked.topLogprobs);
    this.#data = boundedEventData(response.bytes(), bounds);
  }

  /** Whether the server counted the tokens. Valid at the end. */
  get isCounted(): boolean {
    return this.#chunks.hasUsage;
  }

  /** Waits for the first event. A failure before it can be retried with another replica. */
  async begin(): Promise<void> {
    const type = this.#response.header("content-type") ?? "";
    if (!type.includes("text/event-stream")) {
      throw new BadAnswer("with no stream where one was asked for");
    }
    while (this.#ready.length === 0 && !this.#isOver) await this.#more();
  }

  /** `promptTokens`: an estimate, used if the server does not count. */
  async *events(promptTokens: number): AsyncGenerator<GenerationEvent> {
    try {
      for (;;) {
        const events = this.#ready;
        this.#ready = [];
        for (const event of events) {
          this.#signal.throwIfAborted();
          yield event;
        }
        if (this.#isOver) break;
        await this.#more();
      }
      yield this.#chunks.finish(promptTokens);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Makes the server stop if the answer is not over. */
  [Symbol.dispose](): void {
    if (this.#isOver) this.#response.release();
    else this.#response[Symbol.dispose]();
    this.#lease[Symbol.dispose]();
  }

  async #more(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { done, value } = await this.#data.next();
    if (done === true && !this.#chunks.hasFinished) {
      throw new ConnectionFailure("the answer ended before it was finished");
    }
    if (done === true) {
      this.#isOver = true;
      return;
    }
    try {
      for (const data of value) this.#take(data);
    } catch (error) {
      if (this.#ready.length === 0 || !(error instanceof Error)) throw error;
      this.#failure = error;
    }
  }

  #take(data: string): void {
    if (this.#isOver) return;
    if (data === endOfStream) {
      this.#isOver = true;
      return;
    }
    const chunk = parseJson(data);
    if (!isObject(chunk)) throw new BadAnswer("something that is not JSON");
    if ("error" in chunk) {
      const sent = { status: statusOf(sentError(chunk)), body: chunk };
      const { named } = this.#upstream;
      throw toRefusal(sent, { named, field: this.#asked.field });
    }
    for (const event of this.#chunks.take(chunk)) this.#ready.push(event);
  }

  /** The error for a caller that has seen a part of the answer. */
  #explain(error: unknown): unknown {
    const isBroken = error instanceof ConnectionFailure;
    // An error that the server sent, such as about the length, is not the replica's fault.
    if (!isBroken && !(error instanceof BadAnswer)) return error;
    this.#lease.failed(error.message);
    if (!isBroken || error.isSilence) return toNodeError(this.#upstream, error);
    const why = `The server of ${this.#upstream.named} broke off its answer: ${error.message}.`;
    return new NodeError("upstream_failed", why, { cause: error });
  }
}

/** Longest event: a whole answer with its log probabilities. */
const mostBytes = 8 * 1024 * 1024;

interface AnswerBounds {
  events: number;
  bytes: number;
}

/** Servers send an event per token, and some others. */
const eventsPerToken = 4;
const otherEvents = 256;
/** An event with its token, and each log probability with the token's bytes as numbers. */
const bytesPerToken = 1024;
const otherBytes = 256 * 1024;
/** Of any answer: the context that its tokens fit in is the server's own claim. */
const mostAnswerBytes = 128 * 1024 * 1024;

/** For an answer of `tokens`. Without `topLogprobs`: without log probabilities. */
export const answerBounds = (tokens: number, topLogprobs?: number): AnswerBounds => ({
  events: otherEvents + tokens * eventsPerToken,
  bytes: Math.min(
    mostAnswerBytes,
    otherBytes +
      tokens * bytesPerToken * (topLogprobs === undefined ? 1 : 2 + Math.max(topLogprobs, 1)),
  ),
});

/** The data of server-sent events; throws beyond the bounds. */
export async function* boundedEventData(
  bytes: AsyncIterable<Uint8Array>,
  bounds: AnswerBounds,
): AsyncGenerator<string[]> {
  let pending = 0;
  let allBytes = 0;
  let allEvents = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      pending += piece.length;
      allBytes += piece.length;
      if (allBytes > bounds.bytes) throw new BadAnswer(tooMuch);
      yield piece;
      if (pending > mostBytes) throw new BadAnswer("an event that is longer than any answer");
    }
  }
  for await (const events of eventData(counted())) {
    pending = 0;
    allEvents += events.length;
    if (allEvents > bounds.events) throw new BadAnswer(tooMuch);
    yield events;
  }
}
