/** What is due of kept responses without anybody asking: those that are to be deleted, and those left unfinished. */
import { pause } from "../abort.ts";
import { reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ResponseStore } from "../ports/response-store.ts";

export interface TidyingOptions {
  store: ResponseStore;
  /** Fails what nobody makes any more. */
  recover: () => Promise<void>;
  /** How often it looks. */
  everyMs: number;
  log: Log;
}

/** Tidies again and again, until the signal aborts; it never fails. */
export async function tidyResponses(options: TidyingOptions, signal: AbortSignal): Promise<void> {
  let saidWhy: string | undefined;
  while (!signal.aborted) {
    try {
      await options.recover();
      await tidyOnce(options, signal);
      saidWhy = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== saidWhy) options.log.warn("kept responses cannot be tidied", { reason });
      saidWhy = reason;
    }
    await pause(options.everyMs, signal);
  }
}

async function tidyOnce({ store, log }: TidyingOptions, signal: AbortSignal): Promise<void> {
  const sum = { expired: 0, displaced: 0 };
  for (let isDone = false; !isDone && !signal.aborted; ) {
    const step = await store.tidy();
    sum.expired += step.expired;
    sum.displaced += step.displaced;
    isDone = step.isDone;
  }
  const { expired, displaced } = sum;
  if (expired > 0) log.info("kept responses have expired, and are deleted", { count: expired });
  if (displaced > 0) {
    log.warn(
      "the oldest kept responses of who stores most are deleted: all are larger than responses.max_bytes",
      {
        count: displaced,
      },
    );
  }
}
