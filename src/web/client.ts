/** The page's client of the node that serves it: it sends the tab's key, and asks for one where the node wants it. */
import { ApiClient } from "../client/api-client.ts";
import { ApiError } from "../client/api-error.ts";
import { Failure, failureOf } from "./failure.ts";
import { askForKey, key } from "./key.ts";

export const api = new ApiClient({ baseUrl: "/v1", key: () => key.value });

/** Shown before the first key; the node's own words, which are for programs, speak of headers. */
const firstReason = "Enter a key that it knows. Whoever runs the node can give you one.";

/** Sends a request; where the node wants a key, asks the reader for one and sends it again. */
export async function withKey<Answer>(
  send: () => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const isGiven = await askForKey(key.value === null ? firstReason : failureOf(error).message);
      signal?.throwIfAborted();
      if (!isGiven) throw new Failure("The node wants an API key. Retry, and give one.", true);
    }
  }
}
