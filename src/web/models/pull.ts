/** The pull of a model: it goes on in every view, one at a time, and can be cancelled. */
import { computed, signal } from "@preact/signals";
import { ApiError } from "../../client/api-error.ts";
import { announce } from "../browser.ts";
import { api, withKey } from "../client.ts";
import { Failure, failureOf } from "../failure.ts";
import { pulling, refreshNode } from "../node/state.ts";
import { follow, type PullEnd, type PullProgress, wordsOf } from "./pull-progress.ts";

const own = signal<PullProgress | undefined>(undefined);
const followOthers = follow();

/** The pull in progress: this page's, or another client's. */
export const pull = computed(
  () => own.value ?? (pulling.value === undefined ? undefined : followOthers(pulling.value)),
);

/** How this page's last pull ended; undefined while one goes on. */
export const pullEnd = signal<PullEnd | undefined>(undefined);

let isCancelled = false;

export async function startPull(source: string): Promise<void> {
  if (own.value !== undefined) return;
  const followed = follow();
  isCancelled = false;
  pullEnd.value = undefined;
  own.value = followed({ source, label: "Asking the node for it", completed: 0, total: 0 });
  announce(`Pulling ${source}.`);
  const end = await received(source, followed);
  // The model is in the list before the page says that it is here.
  await refreshNode();
  own.value = undefined;
  pullEnd.value = end;
  announce(wordsOf(end));
}

async function received(source: string, followed: ReturnType<typeof follow>): Promise<PullEnd> {
  try {
    let model: string | undefined;
    for await (const event of await withKey(() => api.pullModel(source))) {
      if (event.status === "pulling") own.value = followed(event);
      else model = event.model;
    }
    return { source, model };
  } catch (error) {
    const isBroken = error instanceof ApiError && error.kind === "stream_interrupted";
    const failure = isBroken ? new Failure(brokenOff, true) : failureOf(error);
    return { source, failure, isCancelled };
  }
}

const brokenOff =
  "The connection to the node was lost, and the pull ended with it. Retry, and it goes on from there.";

export async function cancelPull(): Promise<void> {
  isCancelled = true;
  try {
    await withKey(() => api.cancelPull());
    await refreshNode();
  } catch (error) {
    isCancelled = false;
    throw error;
  }
}
