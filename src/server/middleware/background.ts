/** What continues in the background for a request that is answered: the request has ended only when that has. */
import type { RequestContext } from "../request-context.ts";

/**
 * `ending`: what ends with the request. So its caller's place among the requests in progress is held,
 * what it used is charged, and its record is written, when there is nothing left to do for it.
 */
export function continueInBackground(
  background: Promise<void>,
  context: RequestContext,
  ending: Disposable,
): void {
  context.outlivesHandler();
  const end = (): void => {
    ending[Symbol.dispose]();
    context.workEnded();
  };
  void background.then(end, end);
}
