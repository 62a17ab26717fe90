/** Stored responses, which callers can read later and continue from. */
import type { ChatMessage } from "./chat-engine.ts";

/** The first two are those of one that is made in the background, and not done yet. */
export const responseStatuses = [
  "queued",
  "in_progress",
  "completed",
  "incomplete",
  "failed",
  "cancelled",
] as const;

export type ResponseStatus = (typeof responseStatuses)[number];

export const isFinished = (status: ResponseStatus): boolean =>
  status !== "queued" && status !== "in_progress";

/** Why there is no answer. */
export interface ResponseFailure {
  /** As the API calls it: `server_error`. */
  code: string;
  message: string;
}

export interface SavedResponse {
  id: string;
  /** The id of the key that it belongs to; undefined: of callers who need none. */
  owner: string | undefined;
  /** Milliseconds of Unix time. */
  createdAt: number;
  status: ResponseStatus;
  /** Where it failed. */
  failure?: ResponseFailure;
  /** Whether it is made in the background, and can be cancelled. */
  isBackground: boolean;
  /** As the API answers it, but for its status and failure, which are those above whatever it says. */
  body: object;
  /** What it was asked with, as the API lists it: each item has an id of its own. */
  input: readonly { id: string }[];
  /** The conversation with its answer, for the response that goes on from it. */
  conversation: readonly ChatMessage[];
}

/** What changes while it is made. */
export type ResponseChange = Partial<
  Pick<SavedResponse, "status" | "failure" | "body" | "conversation">
>;

/** What one step of tidying did. */
export interface TidiedResponses {
  /** How many were deleted because their time was over. */
  expired: number;
  /** How many had to go for newer ones since the last time: all together were too large. */
  displaced: number;
  /** Whether there is nothing left to do. */
  isDone: boolean;
}

/**
 * Every call fails with a NodeError: `unavailable` where the store cannot be used just now, and
 * `payload_too_large` for a response that is larger than the store takes.
 */
export interface ResponseStore {
  /** Stores it in the place of one with its id; if all are too large together, the oldest of the caller who stores most go. */
  save(response: SavedResponse): Promise<void>;
  /** Changes one that is not finished; false where it is, where it is gone, or its time is over. */
  change(id: string, change: ResponseChange): Promise<boolean>;
  /**
   * Undefined where there is none, where its time is over, and where it is somebody else's. Body, input
   * and conversation are parsed each time they are asked for: ask for what is needed, and once.
   */
  find(id: string, owner: string | undefined): Promise<SavedResponse | undefined>;
  /** Whether there was one to delete. */
  delete(id: string, owner: string | undefined): Promise<boolean>;
  /** Whether some are not finished. */
  hasUnfinished(): Promise<boolean>;
  /** Fails all that are not finished, since nobody makes them any more; how many they were. */
  failUnfinished(failure: ResponseFailure): Promise<number>;
  /** Deletes some of what is to be deleted. */
  tidy(): Promise<TidiedResponses>;
}
