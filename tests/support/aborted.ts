/** What waits for the end of a signal; one that was aborted before tells nobody any more. */

/** Calls at once where it is aborted already. */
export function onAbort(signal: AbortSignal, heard: () => void): void {
  if (signal.aborted) heard();
  else signal.addEventListener("abort", heard, { once: true });
}

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => onAbort(signal, resolve));

/** Work that ends with its signal alone: rejects with the reason. */
export const untilAborted = (signal = new AbortController().signal): Promise<never> =>
  new Promise((_, reject) => onAbort(signal, () => reject(signal.reason)));
