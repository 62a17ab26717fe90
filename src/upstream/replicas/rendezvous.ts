/**
 * Rendezvous hashing (highest random weight): each key has an order of preference over all addresses.
 * One that comes takes only the keys that it is now the first choice of, one that goes leaves only
 * its own to others, and several nodes with the same addresses agree without talking.
 */
import { createHash } from "node:crypto";
import type { Replica } from "./replica.ts";

/** The replicas in the key's order, its first choice first. */
export function rendezvousOrder<Member extends Replica>(
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
