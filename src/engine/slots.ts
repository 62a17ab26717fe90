/** The sequences of a context, handed out one request each: the free one that shares most with the prompt. */
import type { LlamaContext, LlamaContextSequence, Token } from "node-llama-cpp";

export interface Slot extends Disposable {
  sequence: LlamaContextSequence;
}

interface Waiter {
  prompt: Token[];
  give: (slot: Slot) => void;
}

export class Slots {
  /** Least recently used first. */
  readonly #free: LlamaContextSequence[];
  readonly #waiting = new Set<Waiter>();

  constructor(context: LlamaContext) {
    this.#free = Array.from({ length: context.totalSequences }, () => context.getSequence());
  }

  /** Waits for a free slot, first come first served; an aborted signal leaves the line. */
  async take(prompt: Token[], signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    const best = this.#best(prompt);
    if (best !== undefined) return this.#lend(best);
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter: Waiter = { prompt, give: resolve };
    const leave = (): void => {
      this.#waiting.delete(waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.add(waiter);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #best(prompt: Token[]): LlamaContextSequence | undefined {
    let best: LlamaContextSequence | undefined;
    let most = -1;
    for (const sequence of this.#free) {
      const shared = sequence.compareContextTokens(prompt).firstDifferentIndex;
      if (shared > most) [best, most] = [sequence, shared];
    }
    return best;
  }

  #lend(sequence: LlamaContextSequence): Slot {
    this.#free.splice(this.#free.indexOf(sequence), 1);
    return { sequence, [Symbol.dispose]: () => this.#giveBack(sequence) };
  }

  #giveBack(sequence: LlamaContextSequence): void {
    this.#free.push(sequence);
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next.give(this.#lend(this.#best(next.prompt) ?? sequence));
  }
}
