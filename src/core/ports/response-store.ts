/** Responses that are kept, so that callers can ask for them again and go on from them. */
import type { ChatMessage } from "./chat-engine.ts";

export interface KeptResponse {
  id: string;
  /** The id of the key that it belongs to; undefined: of callers who need none. */
  owner: string | undefined;
  /** Milliseconds of Unix time. */
  createdAt: number;
  /** As the API answers it; another one takes its place while it is made behind. */
  body: object;
  /** What it was asked with, as the API lists it. */
  input: readonly object[];
  /** The conversation with its answer, for the response that goes on from it. */
  conversation: readonly ChatMessage[];
}

export interface ResponseStore {
  /** Keeps it in the place of one with its id. */
  save(response: KeptResponse): Promise<void>;
  /** Undefined where there is none, where its time is over, and where it is somebody else's. */
  find(id: string, owner: string | undefined): Promise<KeptResponse | undefined>;
  /** Whether there was one to delete. */
  delete(id: string, owner: string | undefined): Promise<boolean>;
}
