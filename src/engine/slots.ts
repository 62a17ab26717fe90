/** The sequences of a context, handed out one request each, with the tokens that they already hold. */
import type { LlamaContext, LlamaContextSequence, Token } from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";
import type { CallOptions } from "../core/ports/chat-engine.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface Slot extends Disposable {
  sequence: LlamaContextSequence;
  /** Whether nothing that ran before may be used. */
  readonly fresh: boolean;
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

/** What a slot is wanted for. */
export interface SlotRequest {
  prompt: Token[];
  /**
   * Whether the prompt is to be evaluated as if nothing had run before, so that the arithmetic is
   * the same each time. Answers to one prompt that run together share it all the same.
   */
  fresh: boolean;
}

interface Lease extends SlotRequest {
  sequence: LlamaContextSequence;
  ready: Promise<void>;
}

interface Waiter {
  request: SlotRequest;
  give: (slot: Slot) => void;
  refuse: (error: NodeError) => void;
}

/** The part of a slot's tokens that a conversation keeps when it goes on. */
const keptAtLeast = 0.9;
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

  /** Refuses at once what would find no place in the line, before anything is computed for it. */
  admit(caller = ""): void {
    if (this.#free.length === 0 && !this.#waiting.admits(caller)) throw this.#busy();
  }

  /** Waits for a free slot; an aborted signal leaves the line, a full line is refused at once. */
  async take(request: SlotRequest, { signal, caller = "" }: CallOptions): Promise<Slot> {
    signal.throwIfAborted();
    const best = this.#best(request);
    if (best !== undefined) return this.#lend(best, request);
    this.admit(caller);
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter: Waiter = { request, give: resolve, refuse: reject };
    const leave = (): void => {
      this.#waiting.leave(caller, waiter);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.join(caller, waiter)?.refuse(this.#busy());
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #busy(): NodeError {
    return new NodeError(
      "overloaded",
      `The node is busy: ${this.#waiting.size} requests wait already. Try again in a moment.`,
    );
  }

  /**
   * The free sequence that the prompt goes on with, nearly all of it kept; else the one that was
   * not used for longest, so that other conversations stay where they are. What the prompt shares
   * with any of them is copied (see evaluate-prompt.ts). A model whose cells cannot be copied takes
   * the longest shared beginning, whatever is lost behind it.
   */
  #best({ prompt, fresh }: SlotRequest): LlamaContextSequence | undefined {
    if (fresh) return this.#free[0];
    let best: LlamaContextSequence | undefined;
    let most = 0;
    for (const sequence of this.#free) {
      const shared = sequence.compareContextTokens(prompt).firstDifferentIndex;
      const goesOn = shared >= sequence.nextTokenIndex * keptAtLeast;
      if (shared > most && (goesOn || sequence.needsCheckpoints)) [best, most] = [sequence, shared];
    }
    return best ?? this.#free[0];
  }

  #lend(sequence: LlamaContextSequence, request: SlotRequest): Slot {
    this.#free.splice(this.#free.indexOf(sequence), 1);
    const { promise: ready, resolve: promptReady } = Promise.withResolvers<void>();
    const lease: Lease = { ...request, sequence, ready };
    const donor = request.fresh ? this.#twin(request) : this.#donor(sequence, request.prompt);
    this.#leases.add(lease);
    return {
      sequence,
      fresh: request.fresh,
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

  /** The slot that evaluates the very same prompt afresh at this moment. */
  #twin({ prompt }: SlotRequest): Donor | undefined {
    for (const { sequence, prompt: theirs, fresh, ready } of this.#leases) {
      const shared = sharedPrefix(theirs, prompt);
      if (fresh && shared === prompt.length && shared === theirs.length) {
        return { sequence, shared, ready };
      }
    }
    return undefined;
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
    next.give(this.#lend(this.#best(next.request) ?? sequence, next.request));
  }
}

function sharedPrefix(a: readonly Token[], b: readonly Token[]): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index;
  return length;
}
