/** The data of server-sent events, however their bytes are cut on the way, and bounded. */
import { createParser } from "eventsource-parser";

/** Longest event: a whole answer in one, with its log probabilities. */
const mostBytes = 8 * 1024 * 1024;

/** More than a working server sends. */
export class EventTooLong extends Error {
  override readonly name = "EventTooLong";
}

/** What each piece of the body brings, so that nothing waits for events that are not there yet. */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  let events: string[] = [];
  let pending = 0;
  const parser = createParser({
    onEvent({ data }) {
      events.push(data);
      pending = 0;
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of bytes) {
    pending += chunk.length;
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (pending > mostBytes) throw new EventTooLong("an event that is longer than any answer");
    if (events.length === 0) continue;
    const arrived = events;
    events = [];
    yield arrived;
  }
  // The last event may lack the empty line that ends it.
  parser.feed("\n\n");
  if (events.length > 0) yield events;
}
