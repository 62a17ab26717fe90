/** The page's client of the node, and its API key: asked for when the node wants one, stored while the tab lives. */
import { signal } from "@preact/signals";
import { ApiClient } from "../client/api-client.ts";
import { ApiError } from "../client/api-error.ts";
import { readItem, writeItem } from "./browser.ts";
import { Failure, failureOf } from "./failure.ts";

const item = "paddock.key";

export const key = signal(readItem("session", item));

/** Why the dialog asks for a key; undefined while it is closed. */
export const keyQuestion = signal<{ reason: string } | undefined>(undefined);

let waiting = Promise.withResolvers<boolean>();

/** Opens the dialog; resolves to whether a key was given. Requests that ask at one time share one dialog. */
export function askForKey(reason: string): Promise<boolean> {
  if (keyQuestion.value === undefined) {
    waiting = Promise.withResolvers();
    keyQuestion.value = { reason };
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

/** Shown before the first key; the node's own words, which are for programs, speak of headers. */
const firstReason = "Enter a key that it knows. The person who runs the node can give you one.";

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
      if (!isGiven) throw new KeyDeclined("The node wants an API key. Retry, and give one.", true);
    }
  }
}

/** The reader was asked for another key than this, and gave none. */
export class KeyDeclined extends Failure {
  readonly key = key.value;
}

/**
 * Questions of one kind, of which the last counts: an answer that a later question has overtaken is
 * not shown, and a caller that waits for it waits for the later one.
 */
export class Questions {
  #last: Promise<void> | undefined;

  ask<Answer>(
    send: () => Promise<Answer>,
    show: (answer: Answer) => void | Promise<void>,
    fail: (error: unknown) => void | Promise<void>,
  ): Promise<void> {
    const own: Promise<void> = send().then(
      (answer) => (own === this.#last ? show(answer) : this.#last),
      (error: unknown) => (own === this.#last ? fail(error) : this.#last),
    );
    this.#last = own;
    return own;
  }
}
