/** The data of server-sent events, however their bytes are cut on the way, and bounded. */
import { createParser } from "eventsource-parser";
import { tooMuch } from "./ask.ts";

/** Longest event: a whole answer in one, with its log probabilities. */
const mostBytes = 8 * 1024 * 1024;

/** More than a working server sends. */
export class AnswerTooLong extends Error {
  override readonly name = "AnswerTooLong";
}

/** What all of an answer may have. */
export interface AnswerBounds {
  events: number;
  bytes: number;
}

/** Servers send an event for each token, and some around them. */
const eventsPerToken = 4;
const otherEvents = 256;
/** An event with its token, and each log probability with the token's bytes as numbers. */
const bytesPerToken = 1024;
const otherBytes = 256 * 1024;

/** Of an answer of so many tokens; without `topLogprobs`: without log probabilities. */
export const answerBounds = (tokens: number, topLogprobs?: number): AnswerBounds => ({
  events: otherEvents + tokens * eventsPerToken,
  bytes:
    otherBytes +
    tokens * bytesPerToken * (topLogprobs === undefined ? 1 : 2 + Math.max(topLogprobs, 1)),
});

/** What each piece of the body brings, so that nothing waits for events that are not there yet. */
export async function* eventData(
  bytes: AsyncIterable<Uint8Array>,
  bounds: AnswerBounds,
): AsyncGenerator<string[]> {
  let events: string[] = [];
  let pending = 0;
  let allBytes = 0;
  let allEvents = 0;
  const parser = createParser({
    onEvent({ data }) {
      if (++allEvents > bounds.events) throw new AnswerTooLong(tooMuch);
      events.push(data);
      pending = 0;
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of bytes) {
    pending += chunk.length;
    allBytes += chunk.length;
    if (allBytes > bounds.bytes) throw new AnswerTooLong(tooMuch);
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (pending > mostBytes) throw new AnswerTooLong("an event that is longer than any answer");
    if (events.length === 0) continue;
    const arrived = events;
    events = [];
    yield arrived;
  }
  // The last event may lack the empty line that ends it.
  parser.feed("\n\n");
  if (events.length > 0) yield events;
}
