/** Slots: each request gets a sequence of the KV cache, or waits for one in a fair queue. */
import type { Token } from "node-llama-cpp";
import { onAbort } from "../../core/abort.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { NodeError } from "../../core/errors.ts";
import { FairQueue } from "../../core/limits/fair-queue.ts";
import type { CallOptions } from "../../core/ports/chat-engine.ts";
import type { PrefixSource } from "./answer.ts";
import { type CachedSequence, type KvCache, sharedPrefix } from "./kv-cache.ts";

export interface Slot extends Disposable {
  readonly sequence: CachedSequence;
  /** Another sequence that holds, or is about to hold, more of the prompt than this one. */
  readonly source: PrefixSource | undefined;
  /** A less useful free sequence, to which the content of this one is copied before it is overwritten. */
  evictionTarget(): CachedSequence | undefined;
  /** Says that the sequence holds its prompt now, so that others may copy it. */
  prefillDone(): void;
}

export interface SlotRequest {
  prompt: readonly Token[];
  /** Evaluates the prompt without the prefix cache, for the same arithmetic each time; requests that run together share it. */
  fresh: boolean;
  /** Whether log probabilities of the prompt are wanted, a few tokens at a time; default: false. */
  isScored?: boolean | undefined;
  /** Prefixes are shared within a scope only, so that nobody learns from a cache hit what others sent. */
  scope: string | undefined;
}

interface Lease extends SlotRequest {
  caller: string;
  sequence: CachedSequence;
  inPrefill: boolean;
}

type Waiter = PromiseWithResolvers<Slot> & { caller: string; request: SlotRequest };

interface Seen {
  caller: string;
  at: number;
}

/** For so long after a caller had a request, no other one gets all slots. */
const reservedMs = 60_000;

/** A prompt that keeps at least this part of a sequence's tokens continues its conversation. */
const continuedAtLeast = 0.9;

export class Slots {
  readonly #cache: KvCache;
  readonly #free: CachedSequence[];
  readonly #leases = new Set<Lease>();
  readonly #uses = new Map<CachedSequence, number>();
  readonly #queue: FairQueue<Waiter>;
  readonly #clock: Clock;
  /** The caller that was seen last, and before it the last other one. */
  #seen: [last: Seen, other: Seen] = [nobody, nobody];
  #reservation: Disposable | undefined;

  constructor(cache: KvCache, maxQueue: number, clock = systemClock) {
    this.#cache = cache;
    this.#clock = clock;
    this.#queue = new FairQueue(maxQueue);
    this.#free = [...cache.sequences];
  }

  /** Throws if the queue has no place for the caller, before anything is computed for it. */
  checkQueue(caller = ""): void {
    if (!this.#hasSlotFor(caller) && !this.#queue.admits(caller)) throw this.#busy();
  }

  /** Waits for a free slot; an aborted signal leaves the queue, a full queue refuses at once. */
  async acquire(request: SlotRequest, { signal, caller = "" }: CallOptions): Promise<Slot> {
    signal.throwIfAborted();
    this.#see(caller);
    const best = this.#hasSlotFor(caller) ? this.#best(request) : undefined;
    if (best !== undefined) return this.#lease(best, request, caller);
    this.checkQueue(caller);
    const waiter: Waiter = { caller, request, ...Promise.withResolvers<Slot>() };
    using _ = onAbort(signal, () => {
      this.#queue.leave(caller, waiter);
      waiter.reject(signal.reason);
    });
    this.#queue.join(caller, waiter)?.reject(this.#busy());
    this.#serve();
    return await waiter.promise;
  }

  #see(caller: string): void {
    const [last, other] = this.#seen;
    this.#seen = [{ caller, at: this.#clock.now() }, last.caller === caller ? other : last];
  }

  #hasSlotFor(caller: string): boolean {
    return this.#free.length > 0 && this.#reserved()?.from !== caller;
  }

  /** The caller that holds all slots but one, if others are to find that one free, and for how long. */
  #reserved(): { from: string; ms: number } | undefined {
    const [holder, ...others] = new Set([...this.#leases].map(({ caller }) => caller));
    if (this.#free.length !== 1 || holder === undefined || others.length > 0) return undefined;
    const [last, other] = this.#seen;
    const { at } = last.caller === holder ? other : last;
    const ms = at + reservedMs - this.#clock.now();
    return ms > 0 ? { from: holder, ms } : undefined;
  }

  #busy(): NodeError {
    return new NodeError(
      "overloaded",
      `The node is busy: ${this.#queue.size} requests wait already. Try again in a moment.`,
    );
  }

  // The free sequence whose conversation the prompt continues; else one beside a busy one, since llama.cpp
  // computes neighbours in one pass; else the least recently used. Without copies: the longest shared prefix.
  #best({ prompt, fresh, scope }: SlotRequest): CachedSequence | undefined {
    let best: CachedSequence | undefined;
    let most = 0;
    for (const sequence of fresh ? [] : this.#free) {
      const shared = sequence.cachedTokens(prompt, scope);
      if (shared > most && (isContinued(sequence, shared) || !this.#cache.canCopy)) {
        [best, most] = [sequence, shared];
      }
    }
    return best ?? this.#neighbour() ?? this.#free.find(isEmpty) ?? this.#free[0];
  }

  #neighbour(): CachedSequence | undefined {
    const busy = new Set([...this.#leases].map(({ sequence }) => sequence.id));
    const beside = this.#free.filter(({ id }) => busy.has(id - 1) || busy.has(id + 1));
    // If sequences cannot be copied, its content would be lost, so only an empty one is chosen.
    return beside.find(isEmpty) ?? (this.#cache.canCopy ? beside[0] : undefined);
  }

  #lease(sequence: CachedSequence, request: SlotRequest, caller: string): Slot {
    const age = this.#free.indexOf(sequence);
    this.#free.splice(age, 1);
    const lease: Lease = { ...request, caller, sequence, inPrefill: true };
    const source = request.fresh
      ? this.#samePrompt(request)
      : this.#prefixSource(sequence, request);
    const shared = request.fresh ? 0 : sequence.cachedTokens(request.prompt, request.scope);
    const isEvicted =
      !isContinued(sequence, shared) && sequence.tokens.length >= 4 * this.#cache.minCopiedTokens;
    const older = new Map(this.#free.slice(0, age).map((other) => [other, this.#usesOf(other)]));
    this.#uses.set(sequence, this.#usesOf(sequence) + 1);
    this.#leases.add(lease);
    const prefillDone = (): void => {
      lease.inPrefill = false;
    };
    return {
      sequence,
      source,
      evictionTarget: () => (isEvicted ? this.#evictionTarget(older, source) : undefined),
      prefillDone,
      [Symbol.dispose]: () => {
        prefillDone();
        this.#leases.delete(lease);
        this.#free.push(sequence);
        this.#see(caller);
        this.#serve();
      },
    };
  }

  /** An empty sequence, else the least recently used of those that were older and are unused since. */
  #evictionTarget(
    older: ReadonlyMap<CachedSequence, number>,
    source: PrefixSource | undefined,
  ): CachedSequence | undefined {
    if (!this.#cache.canCopy) return undefined;
    const isOlder = (other: CachedSequence): boolean =>
      older.get(other) === this.#usesOf(other) && other !== source?.sequence;
    const target = this.#free.find(isEmpty) ?? this.#free.find(isOlder);
    if (target === undefined) return undefined;
    // Its place in the order of use follows from the age of its new content.
    this.#free.splice(this.#free.indexOf(target), 1);
    this.#free.splice(this.#free.filter(isOlder).length, 0, target);
    return target;
  }

  #usesOf(sequence: CachedSequence): number {
    return this.#uses.get(sequence) ?? 0;
  }

  /** A fresh request with the same prompt that runs already, whose evaluation can be shared. */
  #samePrompt({ prompt, scope }: SlotRequest): PrefixSource | undefined {
    for (const lease of this.#leases) {
      // A scored one is evaluated in smaller parts, and later.
      if (lease.scope !== scope || lease.isScored === true) continue;
      const shared = sharedPrefix(lease.prompt, prompt);
      if (lease.fresh && shared === prompt.length && shared === lease.prompt.length) {
        return { sequence: lease.sequence, shared, pending: () => lease.inPrefill };
      }
    }
    return undefined;
  }

  /** The sequence with the longest shared prefix, if copying it saves enough over the own one, or waiting for it over what can be copied now. */
  #prefixSource(own: CachedSequence, request: SlotRequest): PrefixSource | undefined {
    if (!this.#cache.canCopy) return undefined;
    const { prompt, scope } = request;
    const held = own.cachedTokens(prompt, scope);
    let best: PrefixSource | undefined;
    const offer = (sequence: CachedSequence, most: number): void => {
      const shared = Math.min(sequence.cachedTokens(prompt, scope), most);
      const least = Math.max(held + this.#cache.minCopiedTokens, (best?.shared ?? 0) + 1);
      if (shared >= least) best = { sequence, shared, pending: () => false };
    };
    // What is not of its own prompt will be overwritten.
    for (const lease of this.#leases) offer(lease.sequence, sharedPrefix(lease.prompt, prompt));
    for (const sequence of this.#free) offer(sequence, prompt.length);
    const awaited = this.#awaited(request, best?.shared ?? held);
    return awaited ? { ...awaited, meanwhile: best } : best;
  }

  /** One that is evaluating more of the prompt than can be copied now, unless the rest is sooner evaluated without it. */
  #awaited({ prompt, scope }: SlotRequest, held: number): PrefixSource | undefined {
    let best: PrefixSource | undefined;
    const isShort = this.#cache.isShort(prompt.length - held);
    for (const lease of this.#leases) {
      // These are evaluated in turn with others, and a scored one more slowly.
      if (lease.scope !== scope || lease.fresh || lease.isScored === true) continue;
      const { sequence } = lease;
      const rest = lease.prompt.length - sequence.cachedTokens(lease.prompt, scope);
      if (!lease.inPrefill || (isShort && !this.#cache.isShort(rest))) continue;
      const shared = sharedPrefix(lease.prompt, prompt);
      if (shared < Math.max(held + this.#cache.minAwaitedTokens, (best?.shared ?? 0) + 1)) continue;
      // Until the shared prefix is evaluated, or the prompt has ended in another way.
      const pending = (): boolean =>
        lease.inPrefill && sequence.cachedTokens(prompt, scope) < shared;
      best = { sequence, shared, pending };
    }
    return best;
  }

  /** Gives free slots to those that wait, callers in turn. */
  #serve(): void {
    this.#reservation?.[Symbol.dispose]();
    for (let [free] = this.#free; free !== undefined; [free] = this.#free) {
      const reserved = this.#reserved();
      const next = this.#queue.next(reserved?.from);
      if (next === undefined) {
        if (reserved !== undefined && this.#queue.size > 0)
          this.#reservation = this.#clock.after(reserved.ms, () => this.#serve());
        return;
      }
      const { caller, request } = next;
      next.resolve(this.#lease(this.#best(request) ?? free, request, caller));
    }
  }
}

const nobody: Seen = { caller: "", at: Number.NEGATIVE_INFINITY };

const isContinued = ({ tokens }: CachedSequence, shared: number): boolean =>
  shared >= tokens.length * continuedAtLeast;

const isEmpty = ({ tokens }: CachedSequence): boolean => tokens.length === 0;
