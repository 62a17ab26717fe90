/** The page's API client and API key. The key is stored in the tab's session. */
import { batch, signal } from "@preact/signals";
import { ApiClient } from "../client/api-client.ts";
import { ApiError } from "../client/api-error.ts";
import { readItem, writeItem } from "./browser.ts";
import { Failure, failureOf } from "./failure.ts";

const item = "paddock.key";

export const key = signal(readItem("session", item));

/** Why the dialog asks for a key; undefined while it is closed. */
export const keyQuestion = signal<string | undefined>(undefined);

let waiting = Promise.withResolvers<boolean>();

/** Opens the dialog; resolves to whether a key was given. Concurrent requests share it. */
export function askForKey(reason: string): Promise<boolean> {
  if (keyQuestion.value === undefined) {
    waiting = Promise.withResolvers();
    keyQuestion.value = reason;
  }
  return waiting.promise;
}

export function giveKey(text: string): void {
  key.value = text;
  writeItem("session", item, text);
  close(true);
}

export const giveNoKey = (): void => close(false);

export function forgetKey(): void {
  key.value = null;
  writeItem("session", item, null);
}

function close(given: boolean): void {
  keyQuestion.value = undefined;
  waiting.resolve(given);
}

export const api = new ApiClient({ baseUrl: "/v1", key: () => key.value });

/** Shown before the first key: the node's own message is for programs, and mentions headers. */
const firstReason = "Enter a key that it knows. The person who runs the node can give you one.";

/** Sends a request; if the node requires a key, asks the user for one and retries. */
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
      if (!isGiven) throw new KeyDeclined("The node wants an API key. Retry, and give one.", true);
    }
  }
}

/** The user was asked for a key other than `key`, and gave none. */
export class KeyDeclined extends Failure {
  readonly key = key.value;
}

/**
 * A value from the node, and why the last request for it failed. Only the latest request counts: an
 * answer that a later one has overtaken is dropped, and its caller waits for the later one.
 */
export class Loaded<Value> {
  /** Stays after a failure. */
  readonly value = signal<Value | undefined>(undefined);
  readonly failure = signal<Failure | undefined>(undefined);
  #last: Promise<void> | undefined;

  load(request: () => Promise<Value>): Promise<void> {
    const own: Promise<void> = request().then(
      (value) => (own === this.#last ? this.set(value) : this.#last),
      (error: unknown) =>
        own === this.#last ? this.set(this.value.value, failureOf(error)) : this.#last,
    );
    this.#last = own;
    return own;
  }

  set(value: Value | undefined, failure?: Failure): void {
    batch(() => {
      this.value.value = value;
      this.failure.value = failure;
    });
  }
}
