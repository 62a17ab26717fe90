/** The sequences of a context, handed out one request each, where most of its prompt is cached. */
import type { Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type { CallOptions } from "../../core/ports/chat-engine.ts";
import { type CachedSequence, type KvCache, sharedPrefix } from "./kv-cache.ts";
import type { PrefixSource } from "./scheduler.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface Slot extends Disposable {
  readonly sequence: CachedSequence;
  /** Another sequence that holds, or is about to hold, more of the prompt than this one. */
  readonly source: PrefixSource | undefined;
  /** A free sequence of less use to take what this one holds, before its cells are given up. */
  keeper(): CachedSequence | undefined;
  /** Says that the sequence now holds its prompt; who waits to copy from it may. */
  promptReady(): void;
}

/** What a slot is wanted for. */
export interface SlotRequest {
  prompt: readonly Token[];
  /**
   * Whether the prompt is to be evaluated as if nothing had run before, so that the arithmetic is
   * the same each time. Answers to one prompt that run together share it all the same.
   */
  fresh: boolean;
  /** Only sequences of the same scope are looked at, so that nobody learns what others asked. */
  scope: string | undefined;
}

interface Lease extends SlotRequest {
  sequence: CachedSequence;
  /** Whether its prompt is still to be evaluated. */
  inPrompt: boolean;
}

interface Waiter {
  request: SlotRequest;
  give: (slot: Slot) => void;
  refuse: (error: NodeError) => void;
}

/** The part of a slot's tokens that a conversation keeps when it goes on. */
const keptAtLeast = 0.9;

export class Slots {
  readonly #cache: KvCache;
  /** Least recently used first. */
  readonly #free: CachedSequence[];
  readonly #leases = new Set<Lease>();
  /** How often each sequence was handed out. */
  readonly #uses = new Map<CachedSequence, number>();
  readonly #waiting: WaitingLine<Waiter>;

  constructor(cache: KvCache, maxQueue: number) {
    this.#cache = cache;
    this.#waiting = new WaitingLine(maxQueue);
    this.#free = [...cache.sequences];
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
   * The free sequence that the prompt goes on with, nearly all of it kept; else one beside a busy
   * one, since llama.cpp computes neighbours in one pass over the weights; else the one that was not
   * used for longest. What the prompt shares with any of them is copied. A model whose cells cannot
   * be copied takes the longest shared beginning, whatever is lost behind it.
   */
  #best({ prompt, fresh, scope }: SlotRequest): CachedSequence | undefined {
    let best: CachedSequence | undefined;
    let most = 0;
    for (const sequence of fresh ? [] : this.#free) {
      const shared = sequence.shares(prompt, scope);
      if (shared > most && (isKept(sequence, shared) || !this.#cache.copies)) {
        [best, most] = [sequence, shared];
      }
    }
    return best ?? this.#neighbour() ?? this.#oldest;
  }

  #neighbour(): CachedSequence | undefined {
    const busy = new Set([...this.#leases].map(({ sequence }) => sequence.id));
    const beside = this.#free.filter(({ id }) => busy.has(id - 1) || busy.has(id + 1));
    // Where what it holds cannot be moved, only one that holds nothing may be taken for its place.
    return beside.find(isEmpty) ?? (this.#cache.copies ? beside[0] : undefined);
  }

  /** The one whose loss costs least: one that holds nothing, else the one unused for longest. */
  get #oldest(): CachedSequence | undefined {
    return this.#free.find(isEmpty) ?? this.#free[0];
  }

  #lend(sequence: CachedSequence, request: SlotRequest): Slot {
    const age = this.#free.indexOf(sequence);
    this.#free.splice(age, 1);
    const lease: Lease = { ...request, sequence, inPrompt: true };
    const source = request.fresh ? this.#twin(request) : this.#source(sequence, request);
    const kept = request.fresh ? 0 : sequence.shares(request.prompt, request.scope);
    const isGivenUp =
      !isKept(sequence, kept) && sequence.tokens.length >= 4 * this.#cache.worthCopying;
    const older = new Map(this.#free.slice(0, age).map((other) => [other, this.#usesOf(other)]));
    this.#uses.set(sequence, this.#usesOf(sequence) + 1);
    this.#leases.add(lease);
    const promptReady = (): void => {
      lease.inPrompt = false;
    };
    return {
      sequence,
      source,
      keeper: () => (isGivenUp ? this.#keeper(older, source) : undefined),
      promptReady,
      [Symbol.dispose]: () => {
        promptReady();
        this.#leases.delete(lease);
        this.#giveBack(sequence);
      },
    };
  }

  /** One that holds nothing, else the oldest of those that were older and were not used since. */
  #keeper(
    older: ReadonlyMap<CachedSequence, number>,
    source: PrefixSource | undefined,
  ): CachedSequence | undefined {
    if (!this.#cache.copies) return undefined;
    const isOlder = (other: CachedSequence): boolean =>
      older.get(other) === this.#usesOf(other) && other !== source?.sequence;
    const keeper = this.#free.find(isEmpty) ?? this.#free.find(isOlder);
    if (keeper === undefined) return undefined;
    // From now on it is as old as what it will hold.
    this.#free.splice(this.#free.indexOf(keeper), 1);
    this.#free.splice(this.#free.filter(isOlder).length, 0, keeper);
    return keeper;
  }

  #usesOf(sequence: CachedSequence): number {
    return this.#uses.get(sequence) ?? 0;
  }

  /** The slot that evaluates the very same prompt afresh at this moment. */
  #twin({ prompt, scope }: SlotRequest): PrefixSource | undefined {
    for (const lease of this.#leases) {
      if (lease.scope !== scope) continue;
      const shared = sharedPrefix(lease.prompt, prompt);
      if (lease.fresh && shared === prompt.length && shared === lease.prompt.length) {
        return { sequence: lease.sequence, shared, pending: () => lease.inPrompt };
      }
    }
    return undefined;
  }

  /** Another sequence that has enough more of the prompt than the own one to be worth copying. */
  #source(own: CachedSequence, { prompt, scope }: SlotRequest): PrefixSource | undefined {
    if (!this.#cache.copies) return undefined;
    let best: PrefixSource | undefined;
    const least = own.shares(prompt, scope) + this.#cache.worthCopying;
    const offer = (source: PrefixSource): void => {
      if (source.shared >= Math.max(least, (best?.shared ?? 0) + 1)) best = source;
    };
    for (const lease of this.#leases) {
      if (lease.scope !== scope) continue;
      const { sequence } = lease;
      const shared = sharedPrefix(lease.prompt, prompt);
      // Evaluated as far as they share it, or its prompt has ended one way or the other.
      const pending = (): boolean => lease.inPrompt && sequence.shares(prompt, scope) < shared;
      offer({ sequence, shared, pending });
    }
    for (const sequence of this.#free) {
      offer({ sequence, shared: sequence.shares(prompt, scope), pending: () => false });
    }
    return best;
  }

  #giveBack(sequence: CachedSequence): void {
    this.#free.push(sequence);
    const next = this.#waiting.next();
    if (next === undefined) return;
    next.give(this.#lend(this.#best(next.request) ?? sequence, next.request));
  }
}

/** Whether a prompt that shares so many tokens with a sequence keeps nearly all that it holds. */
const isKept = ({ tokens }: CachedSequence, shared: number): boolean =>
  shared >= tokens.length * keptAtLeast;

const isEmpty = ({ tokens }: CachedSequence): boolean => tokens.length === 0;
