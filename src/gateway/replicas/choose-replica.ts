/**
 * Which replica a request goes to. By prefix: consistent hashing with bounded loads, over rendezvous
 * hashing. Without one: the one with least to do. If none is up: the least bad.
 */
import { createHash } from "node:crypto";
import type { Member } from "./member.ts";

/**
 * How much more than the mean a replica may have in progress before a prompt that belongs there goes
 * to the next. Less moves conversations away from what is cached of them, more lets one popular
 * prompt fill one replica while others have little to do; docs/decisions has the figures.
 */
const loadFactor = 1.25;
/** And so many besides, which matters where there is little to do: sharing a replica with one other costs less than a prompt's evaluation. */
const besides = 1;

/** Most that one of these may have in progress, with the request that comes. */
function loadBound(members: readonly Pick<Member, "inFlight">[]): number {
  const inFlight = members.reduce((sum, member) => sum + member.inFlight, 0);
  return Math.ceil((loadFactor * (inFlight + 1)) / members.length) + besides;
}

/** Of those that were not `tried`; undefined where they are out, and being tried by others. */
export function chooseMember(
  members: readonly Member[],
  tried: readonly Member[],
  prefix: string | undefined,
  placements: Placements,
): Member | undefined {
  const left = members.filter((member) => !tried.includes(member));
  const open = withRoom(left.filter((member) => member.isOpen));
  if (prefix === undefined) return leastBusy(open) ?? leastBad(left);
  const [first, ...others] = rendezvousOrder(prefix, members);
  if (first === undefined) return undefined;
  const last = others.find(({ url }) => url === placements.of(prefix));
  const order = last === undefined ? [first, ...others] : [last, first, ...others];
  const bound = loadBound(open);
  const chosen =
    order.find((member) => open.includes(member) && member.inFlight < bound) ?? leastBad(left);
  if (chosen === first) placements.forget(prefix);
  else if (chosen !== undefined) placements.set(prefix, chosen.url);
  return chosen;
}

/** Those that did not say that they are full, where there are any. */
function withRoom(members: readonly Member[]): readonly Member[] {
  const roomy = members.filter((member) => !member.isSpared);
  return roomy.length === 0 ? members : roomy;
}

/** Of several, the one that was not asked for the longest. */
const leastBusy = (members: readonly Member[]): Member | undefined =>
  members.toSorted((a, b) => a.inFlight - b.inFlight || a.lastLease - b.lastLease)[0];

/**
 * Nobody is up. One that answers when it is asked how it is, or whose failure may be an accident, is
 * given what comes; each of the others is tried by one request at a time, so that nobody stands in a
 * line for a server that hangs.
 */
function leastBad(members: readonly Member[]): Member | undefined {
  return members
    .filter(({ circuit, isOnTrial }) => !circuit.isShut || !isOnTrial)
    .toSorted(
      (a, b) =>
        Number(a.circuit.state === "out") - Number(b.circuit.state === "out") ||
        a.circuit.failures - b.circuit.failures ||
        a.inFlight - b.inFlight ||
        a.circuit.remainingMs - b.circuit.remainingMs,
    )[0];
}

/**
 * The replicas in the key's order of preference, by rendezvous hashing (highest random weight). A new
 * one gets only the keys that it is now the first choice of, one that goes leaves only its own to
 * others, and several nodes with the same addresses agree without talking.
 */
export function rendezvousOrder<Member extends { url: string }>(
  key: string,
  members: readonly Member[],
): Member[] {
  return members
    .map((member) => ({ member, weight: weightOf(key, member.url) }))
    .toSorted((a, b) => b.weight - a.weight || (a.member.url < b.member.url ? -1 : 1))
    .map(({ member }) => member);
}

/** 48 bits: the most that a number holds of a digest in whole bytes. */
const weightBytes = 6;

/** A digest that is the same in every version and on every machine, since several nodes must agree. */
const weightOf = (key: string, url: string): number =>
  createHash("sha256").update(key).update("\n").update(url).digest().readUIntBE(0, weightBytes);

/** Each takes about 200 bytes. */
const defaultMost = 10_000;

/**
 * Where prompts went that did not go to their first choice. A conversation that was given to another
 * replica because its own was busy has its beginning there, so its next turn goes there too.
 */
export class Placements {
  readonly #most: number;
  /** In the order of their last use. */
  readonly #urls = new Map<string, string>();

  constructor(most = defaultMost) {
    this.#most = most;
  }

  get size(): number {
    return this.#urls.size;
  }

  /** Where the prompt went last; undefined: to its first choice, or nobody knows. */
  of(prefix: string): string | undefined {
    return this.#urls.get(prefix);
  }

  /** The prompt went to another than its first choice. */
  set(prefix: string, url: string): void {
    this.#urls.delete(prefix);
    this.#urls.set(prefix, url);
    if (this.#urls.size <= this.#most) return;
    const [oldest] = this.#urls.keys();
    if (oldest !== undefined) this.#urls.delete(oldest);
  }

  /** The prompt went to its first choice. */
  forget(prefix: string): void {
    this.#urls.delete(prefix);
  }
}
