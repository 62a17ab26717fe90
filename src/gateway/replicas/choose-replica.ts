/**
 * Chooses the replica for a request. With a prefix: consistent hashing with bounded loads, over
 * rendezvous hashing. Without one: the least busy replica. If none is up: the least bad one.
 */
import { createHash } from "node:crypto";
import type { Member } from "./replica-circuit.ts";

/**
 * How far above the mean load a replica may be before prompts that belong there go to the next. A
 * lower factor moves conversations away from their cache; a higher one lets one popular prompt fill
 * one replica while others are idle. docs/decisions has the figures.
 */
const loadFactor = 1.25;
/** Extra requests allowed, for low loads: sharing a replica costs less than evaluating a prompt. */
const besides = 1;

/** Most requests that one replica may have in progress, including the new one. */
function loadBound(members: readonly Pick<Member, "inFlight">[]): number {
  const inFlight = members.reduce((sum, member) => sum + member.inFlight, 0);
  return Math.ceil((loadFactor * (inFlight + 1)) / members.length) + besides;
}

/** A replica that was not `tried`; undefined if all are out and on trial with other requests. */
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
  if (chosen !== undefined) placements.set(prefix, chosen === first ? undefined : chosen.url);
  return chosen;
}

/** The replicas that did not report being full; all of them if every one did. */
function withRoom(members: readonly Member[]): readonly Member[] {
  const roomy = members.filter((member) => !member.isSpared);
  return roomy.length === 0 ? members : roomy;
}

const leastBusy = (members: readonly Member[]): Member | undefined =>
  members.toSorted((a, b) => a.inFlight - b.inFlight || a.lastLease - b.lastLease)[0];

/** If none is up. One that failed often gets one request at a time: it may hang. */
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
 * The replicas in the key's order of preference, by rendezvous hashing (highest random weight). A
 * new replica gets only the keys it is now first choice for, removing one moves only its own keys,
 * and several nodes with the same addresses agree without coordination.
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

/** 48 bits: the most whole bytes of a digest that a number holds exactly. */
const weightBytes = 6;

/** Must be the same in every version and on every machine, since several nodes have to agree. */
const weightOf = (key: string, url: string): number =>
  createHash("sha256").update(key).update("\n").update(url).digest().readUIntBE(0, weightBytes);

/** Where prompts went that moved from a busy first choice: they are cached there. */
export class Placements {
  readonly #most: number;
  /** Least recently used first. */
  readonly #urls = new Map<string, string>();

  /** Each takes about 200 bytes. */
  constructor(most = 10_000) {
    this.#most = most;
  }

  /** Where the prompt went last; undefined if to its first choice, or not known. */
  of(prefix: string): string | undefined {
    return this.#urls.get(prefix);
  }

  /** `url`: where the prompt went; undefined if to its first choice. */
  set(prefix: string, url: string | undefined): void {
    this.#urls.delete(prefix);
    if (url !== undefined) this.#urls.set(prefix, url);
    const [oldest = prefix] = this.#urls.keys();
    if (this.#urls.size > this.#most) this.#urls.delete(oldest);
  }
}
