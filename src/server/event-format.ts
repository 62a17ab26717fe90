/** Formats of a stream's events: data only, named events, or lines of JSON. */
import type { NodeError } from "../core/errors.ts";
import { errorBody } from "./middleware/errors.ts";

export const serverSentEvents = "text/event-stream";
export const jsonLinesType = "application/x-ndjson";

export function isEventStream({ headers }: Response): boolean {
  const found = headers.get("content-type") ?? "";
  return [serverSentEvents, jsonLinesType].some((type) => found.startsWith(type));
}

export interface EventFormat {
  /** Default: server-sent events. */
  readonly contentType?: string;
  /** Sent while there is nothing else; readers skip it. Default: a comment. */
  readonly waiting?: string;
  write(event: string): string;
  /** The text after the last event of a complete stream. */
  readonly end: string;
  /** Formats a failure, after which the stream ends. */
  writeError(error: NodeError): string;
}

/** The format of chat completions: `data: <event>`, and `data: [DONE]` at the end. */
export const dataEvents: EventFormat = {
  write: (event) => `data: ${event}\n\n`,
  end: "data: [DONE]\n\n",
  writeError: (error) => dataEvents.write(JSON.stringify(errorBody(error))),
};

/** The format of operations that yield `namedEvent` texts; the last event marks the end. */
export const namedEvents = (writeError: EventFormat["writeError"]): EventFormat => ({
  write: (event) => event,
  end: "",
  writeError,
});

/** A line for each event. White space before JSON means nothing, and an empty line is an error. */
export const jsonLines = (errorLine: (error: NodeError) => object): EventFormat => ({
  contentType: jsonLinesType,
  waiting: " ",
  write: (event) => `${event}\n`,
  end: "",
  writeError: (error) => `${JSON.stringify(errorLine(error))}\n`,
});

export const namedEvent = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
