/** What goes on for a request when it is answered already: the request has ended only when that has. */
import type { RequestContext } from "../request-context.ts";

/**
 * `ending`: what ends with the request. So its caller's place among the requests in progress is held,
 * what it used is charged, and its record is written, when there is nothing left to do for it.
 */
export function goOnBehind(
  behind: Promise<void>,
  context: RequestContext,
  ending: Disposable,
): void {
  context.streams();
  const end = (): void => {
    ending[Symbol.dispose]();
    context.streamEnded();
  };
  void behind.then(end, end);
}
