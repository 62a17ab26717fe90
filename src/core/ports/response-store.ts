/** Port: stored responses, which callers can read later and continue from. */
import type { ChatMessage } from "./chat-engine.ts";

/** `queued` and `in_progress`: a background response that is not finished. */
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

export interface ResponseFailure {
  /** The API's code: `server_error`. */
  code: string;
  message: string;
}

export interface SavedResponse {
  id: string;
  /** The id of the key that it belongs to; undefined for callers without a key. */
  owner: string | undefined;
  /** Milliseconds of Unix time. */
  createdAt: number;
  status: ResponseStatus;
  failure?: ResponseFailure;
  isBackground: boolean;
  /** The API's response body; status and failure above override those in it. */
  body: object;
  /** The input items, as the API lists them, each with an id. */
  input: readonly { id: string }[];
  /** The conversation including the answer, for a response that continues from it. */
  conversation: readonly ChatMessage[];
}

export type ResponseChange = Partial<
  Pick<SavedResponse, "status" | "failure" | "body" | "conversation">
>;

export interface TidiedResponses {
  expired: number;
  /** How many were deleted since the last step to make room for newer ones. */
  displaced: number;
  isDone: boolean;
}

/** Throws `unavailable` if it cannot be used now, and `payload_too_large` for a response larger than it accepts. */
export interface ResponseStore {
  /** Stores or replaces a response; if the store is full, the oldest of the caller that stores most are deleted. */
  save(response: SavedResponse): Promise<void>;
  /** Replaces the one that was created at `before`; false if there is none, or another by now. */
  replace(response: SavedResponse, before: number): Promise<boolean>;
  /** Changes an unfinished response; false if it is finished, deleted or expired. */
  change(id: string, change: ResponseChange): Promise<boolean>;
  /** Undefined if it has expired, or is another caller's. Body, input and conversation are parsed on each access. */
  find(id: string, owner: string | undefined): Promise<SavedResponse | undefined>;
  delete(id: string, owner: string | undefined): Promise<boolean>;
  /** Throws if it cannot be read now, or its last change could not be written. */
  check(): Promise<void>;
  hasUnfinished(): Promise<boolean>;
  /** Marks all unfinished responses as failed, since their process is gone; returns how many. */
  failUnfinished(failure: ResponseFailure): Promise<number>;
  tidy(): Promise<TidiedResponses>;
}
