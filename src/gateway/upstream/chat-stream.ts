/** Streamed answer of an upstream server: read as the caller pulls, cancelled with the caller. */
import { sentError } from "../../client/api-error.ts";
import { endOfStream, eventData } from "../../client/event-stream.ts";
import { isObject } from "../../client/json-fields.ts";
import { mostCharacters } from "../../core/chat/answer-parts.ts";
import { NodeError } from "../../core/errors.ts";
import type { GenerationEvent } from "../../core/ports/chat-engine.ts";
import { nextTurn } from "../../core/turns.ts";
import type { ReplicaLease } from "../replicas/replica.ts";
import { BadAnswer, parseAnswer, toNodeError, tooMuch, type Upstream } from "./ask.ts";
import { ChatChunks, type MostTokens, withoutReason } from "./chat-chunks.ts";
import { ConnectionFailure, type UpstreamResponse } from "./http-exchange.ts";
import { type Refused, statusOf, toRefusal } from "./refusal.ts";
import { mostBytesPerToken } from "./tokenizer.ts";

export interface AskedAnswer {
  /** The field that holds the texts, for errors about their length. */
  field: Refused["field"];
  /** Tokens that were asked for, or that fit. */
  tokens: number;
  most: MostTokens;
  /** Alternatives per token; absent: no log probabilities were asked for. */
  topLogprobs?: number | undefined;
}

/** Disposing it makes the server stop if the answer is not over. */
export interface StreamedAnswer extends Disposable {
  /** Ends with `finish`. `promptTokens`: an estimate, used if the server does not count. */
  events(promptTokens: number): AsyncGenerator<GenerationEvent>;
  /** Whether the server counted the tokens. Valid at the end. */
  isCounted(): boolean;
}

/** Waits for the first event: a failure before it can be retried with another replica. */
export async function beginAnswer(
  upstream: Upstream,
  response: UpstreamResponse,
  lease: ReplicaLease,
  { field, tokens, most, topLogprobs }: AskedAnswer,
  signal: AbortSignal,
): Promise<StreamedAnswer> {
  const { named, key } = upstream;
  if (response.header("content-type")?.includes("text/event-stream") !== true) {
    throw new BadAnswer("with no stream where one was asked for");
  }
  const bounds = answerBounds(tokens, topLogprobs);
  const data = boundedEventData(response.bytes(), bounds);
  const { characters } = bounds;
  const chunks = new ChatChunks({ tokens: most, characters }, topLogprobs !== undefined);
  const ready: GenerationEvent[] = [];
  let isOver = false;
  /** An error of the stream, thrown after the events that are ready. */
  let failure: Error | undefined;

  const take = async (text: string): Promise<void> => {
    isOver ||= text === endOfStream;
    if (isOver) return;
    const chunk = await parseAnswer(text);
    if (!isObject(chunk)) throw new BadAnswer("something that is not JSON");
    if ("error" in chunk) {
      const status = statusOf(sentError(chunk));
      throw toRefusal({ status, body: chunk }, { named, field, key });
    }
    for (const event of chunks.take(chunk)) ready.push(event);
  };
  let taken = 0;
  const more = async (): Promise<void> => {
    if (failure !== undefined) throw failure;
    // Events that hold nothing are passed on to nobody.
    if (taken > mostInTurn) {
      taken = 0;
      await nextTurn();
    }
    const { done, value } = await data.next();
    if (done === true) {
      if (!chunks.hasFinished) throw new ConnectionFailure(endedEarly);
      isOver = true;
      return;
    }
    taken += value.length;
    try {
      for (const text of value) await take(text);
    } catch (error) {
      if (ready.length === 0 || !(error instanceof Error)) throw error;
      failure = error;
    }
  };
  /** The error for a caller that has seen a part of the answer. */
  const explain = (error: unknown): unknown => {
    const isBroken = error instanceof ConnectionFailure;
    // An error that the server sent, such as about the length, is not the replica's fault, unless it says so.
    if (!isBroken && !(error instanceof BadAnswer)) {
      if (error instanceof NodeError && error.kind === "upstream_failed")
        lease.faulted(error.message);
      return error;
    }
    if (isBroken) lease.failed(error.message);
    else lease.faulted(error.message);
    if (!isBroken || error.isSilence) return toNodeError(upstream, error);
    const why = `The server of ${named} broke off its answer: ${error.message}.`;
    return new NodeError("upstream_failed", why, { cause: error });
  };

  while (ready.length === 0 && !isOver) await more();
  if (ready.length === 0 && !chunks.hasFinished) throw new BadAnswer(withoutReason);
  return {
    async *events(promptTokens) {
      let passed = 0;
      try {
        for (;;) {
          for (const event of ready.splice(0)) {
            if (++passed % mostInTurn === 0) await nextTurn();
            signal.throwIfAborted();
            yield event;
          }
          if (isOver) break;
          await more();
        }
        yield chunks.finish(promptTokens);
      } catch (error) {
        throw explain(error);
      }
    },
    isCounted: () => chunks.hasUsage,
    [Symbol.dispose]() {
      if (isOver) response.release();
      else response[Symbol.dispose]();
      lease[Symbol.dispose]();
    },
  };
}

/** Events that are passed on in a turn of the loop: a server may send a whole answer at once. */
const mostInTurn = 64;

const endedEarly = "the answer ended before it was finished";

/** Longest event: a whole answer; it is held until all of it is passed on. */
const mostEventBytes = 1024 * 1024;
/** The same with its log probabilities. */
const mostScoredBytes = 8 * 1024 * 1024;

interface AnswerBounds {
  events: number;
  eventBytes: number;
  bytes: number;
  /** Of texts, thoughts and tool calls. */
  characters: number;
}

/** Servers send an event per token, and some others. */
const eventsPerToken = 4;
const otherEvents = 256;
/** An event with its token, and each log probability with the token's bytes as numbers. */
const bytesPerToken = 1024;
const otherBytes = 256 * 1024;
/** Of any answer: the context that its tokens fit in is the server's own claim. */
const mostAnswerBytes = 128 * 1024 * 1024;
/** A short answer may have more: some servers do not count thoughts. */
const otherCharacters = 64 * 1024;

/** For an answer of `tokens`. Without `topLogprobs`: without log probabilities. */
export const answerBounds = (tokens: number, topLogprobs?: number): AnswerBounds => ({
  events: otherEvents + tokens * eventsPerToken,
  eventBytes: topLogprobs === undefined ? mostEventBytes : mostScoredBytes,
  bytes: Math.min(
    mostAnswerBytes,
    otherBytes +
      tokens * bytesPerToken * (topLogprobs === undefined ? 1 : 2 + Math.max(topLogprobs, 1)),
  ),
  characters: Math.min(mostCharacters, otherCharacters + tokens * mostBytesPerToken),
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
      if (pending > bounds.eventBytes)
        throw new BadAnswer("an event that is longer than any answer");
    }
  }
  for await (const events of eventData(counted())) {
    pending = 0;
    allEvents += events.length;
    if (allEvents > bounds.events) throw new BadAnswer(tooMuch);
    yield events;
  }
}
