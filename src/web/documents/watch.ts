/** Looks after documents that are being taken in: gently, and only while somebody sees it. */
import { effect } from "@preact/signals";
import { announce } from "../announce.ts";
import { collections, isTakingIn, shown } from "./collections.ts";
import { refreshShown } from "./listing.ts";

const soonestMs = 1000;
const latestMs = 5000;

/** Asks again while something is in progress and the page is visible; returns the function that ends it. */
export function watchTakingIn(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = soonestMs;
  let before = "";
  const schedule = (): void => {
    clearTimeout(timer);
    const isSeen = document.visibilityState === "visible";
    if (isSeen && isTakingIn.peek()) timer = setTimeout(poll, waitMs);
  };
  const poll = async (): Promise<void> => {
    const store = shown.peek();
    if (store !== undefined) await refreshShown(store.id);
    const now = JSON.stringify(collections.peek().map(({ file_counts }) => file_counts));
    waitMs = now === before ? Math.min(waitMs * 1.5, latestMs) : soonestMs;
    before = now;
    schedule();
  };
  const onVisible = (): void => {
    waitMs = soonestMs;
    schedule();
  };
  let wasTakingIn = false;
  const end = effect(() => {
    if (isTakingIn.value) onVisible();
    else if (wasTakingIn) announce("Nothing is being taken in any more.");
    wasTakingIn = isTakingIn.value;
  });
  document.addEventListener("visibilitychange", onVisible);
  return () => {
    end();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
  };
}
