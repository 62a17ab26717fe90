/** The API key: asked for when the node wants one, kept for as long as the browser's tab lives. */
import { signal } from "@preact/signals";
import { readItem, writeItem } from "./storage.ts";

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
