/** Schemas are compiled one at a time, their callers in turn: a large one blocks the loop for some tenths of a second, and answers have it for as long in between. */
import { onAbort } from "../../core/abort.ts";
import { FairQueue } from "../../core/limits/fair-queue.ts";
import type { CallOptions } from "../../core/ports/chat-engine.ts";

export class CompileTurns {
  readonly #waiting = new FairQueue<PromiseWithResolvers<void>>(Number.POSITIVE_INFINITY);
  #isTaken = false;

  async run<Result>(
    compile: () => Promise<Result>,
    { signal, caller = "" }: Pick<CallOptions, "signal" | "caller">,
  ): Promise<Result> {
    signal.throwIfAborted();
    if (this.#isTaken) await this.#turn(caller, signal);
    this.#isTaken = true;
    const startedAt = performance.now();
    try {
      return await compile();
    } finally {
      setTimeout(() => this.#next(), performance.now() - startedAt);
    }
  }

  async #turn(caller: string, signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    this.#waiting.join(caller, turn);
    using _ = onAbort(signal, () => {
      this.#waiting.leave(caller, turn);
      turn.reject(signal.reason);
    });
    await turn.promise;
  }

  #next(): void {
    const turn = this.#waiting.next();
    if (turn === undefined) this.#isTaken = false;
    else turn.resolve();
  }
}
