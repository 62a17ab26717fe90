/** The sequences of a context, handed out one request each, with the tokens that they already hold. */
import type { LlamaContext, LlamaContextSequence, Token } from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";
import type { CallOptions } from "../core/ports/chat-engine.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface Slot extends Disposable {
  sequence: LlamaContextSequence;
  /** Says that the sequence now holds its prompt; who waits to copy from it may. */
  promptReady(): void;
  /** Another slot that holds, or is about to hold, more of the prompt than this one. */
  readonly donor: Donor | undefined;
  /** Whether no other slot is at work. */
  alone(): boolean;
}

export interface Donor {
  sequence: LlamaContextSequence;
  /** How many tokens of the prompt it has. */
  shared: number;
  /** When it has them. */
  ready: Promise<void>;
}

interface Lease {
  sequence: LlamaContextSequence;
  prompt: Token[];
  ready: Promise<void>;
}

interface Waiter {
  prompt: Token[];
  give: (slot: Slot) => void;
}

/** Copying has its own price; fewer tokens are evaluated as fast. */
const worthCopying = 16;

export class Slots {
  /** Least recently used first. */
  readonly #free: LlamaContextSequence[];
  readonly #leases = new Set<Lease>();
  readonly #waiting: WaitingLine<Waiter>;

  constructor(context: LlamaContext, maxQueue: number) {
    this.#waiting = new WaitingLine(maxQueue);
    this.#free = Array.from({ length: context.totalSequences }, () => context.getSequence());
  }

  /** Waits for a free slot; an aborted signal leaves the line, a full line is refused at once. */
  async take(prompt: Token[], { signal, caller = "" }: CallOptions): Promise<Slot> {
    signal.throwIfAborted();
    const best = this.#best(prompt);
    if (best !== undefined) return this.#lend(best, prompt);
    if (this.#waiting.full) {
      throw new NodeError(
        "overloaded",
        `The node is busy: ${this.#waiting.size} requests wait already. Try again in a moment.`,
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter: Waiter = { prompt, give: resolve };
    const leave = (): void => {
      this.#waiting.leave(caller, waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.join(caller, waiter);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** The free sequence that shares most with the prompt. */
  #best(prompt: Token[]): LlamaContextSequence | undefined {
    let best: LlamaContextSequence | undefined;
    let most = -1;
    for (const sequence of this.#free) {
      const shared = sequence.compareContextTokens(prompt).firstDifferentIndex;
      if (shared > most) [best, most] = [sequence, shared];
    }
    return best;
  }

  #lend(sequence: LlamaContextSequence, prompt: Token[]): Slot {
    this.#free.splice(this.#free.indexOf(sequence), 1);
    const { promise: ready, resolve: promptReady } = Promise.withResolvers<void>();
    const lease: Lease = { sequence, prompt, ready };
    const donor = this.#donor(sequence, prompt);
    this.#leases.add(lease);
    return {
      sequence,
      promptReady,
      donor,
      alone: () => this.#leases.size === 1,
      [Symbol.dispose]: () => {
        promptReady();
        this.#leases.delete(lease);
        this.#giveBack(sequence);
      },
    };
  }

  #donor(own: LlamaContextSequence, prompt: Token[]): Donor | undefined {
    let best: Donor | undefined;
    const least = own.compareContextTokens(prompt).firstDifferentIndex + worthCopying;
    const offer = (donor: Donor): void => {
      if (donor.shared >= Math.max(least, (best?.shared ?? 0) + 1)) best = donor;
    };
    for (const { sequence, prompt: theirs, ready } of this.#leases) {
      offer({ sequence, shared: sharedPrefix(theirs, prompt), ready });
    }
    for (const sequence of this.#free) {
      const shared = sequence.compareContextTokens(prompt).firstDifferentIndex;
      offer({ sequence, shared, ready: Promise.resolve() });
    }
    return best;
  }

  #giveBack(sequence: LlamaContextSequence): void {
    this.#free.push(sequence);
    const next = this.#waiting.next();
    if (next === undefined) return;
    next.give(this.#lend(this.#best(next.prompt) ?? sequence, next.prompt));
  }
}

function sharedPrefix(a: readonly Token[], b: readonly Token[]): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index;
  return length;
}
