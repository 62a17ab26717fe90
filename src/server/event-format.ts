/** How the events of a stream are written: as data alone, or each under its name. */
import type { NodeError } from "../core/errors.ts";
import { errorBody } from "./middleware/errors.ts";

export interface EventFormat {
  /** One event that an operation yields, as it goes over the wire. */
  write(event: string): string;
  /** What follows the last event of a stream that came to its end. */
  readonly end: string;
  /** What tells the reader of a failure, after which the stream ends. */
  writeError(error: NodeError): string;
}

/** As chat completions have them: `data: <event>`, and `data: [DONE]` at the end. */
export const dataEvents: EventFormat = {
  write: (event) => `data: ${event}\n\n`,
  end: "data: [DONE]\n\n",
  writeError: (error) => dataEvents.write(JSON.stringify(errorBody(error))),
};

/** For operations that yield what `namedEvent` makes; the last event is the end. */
export const namedEvents = (writeError: EventFormat["writeError"]): EventFormat => ({
  write: (event) => event,
  end: "",
  writeError,
});

/** One event under its name. */
export const namedEvent = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
