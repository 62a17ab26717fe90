/** A model's one address, asked for everything: no routing, and nobody else to ask. */
import { NotBegun, type ReplicaLease, type Replicas } from "../../src/gateway/replicas/replica.ts";

export interface OneReplica extends Replicas {
  /** What was said of it, in order: `succeeded`, `overloaded`, or why it failed. */
  said: string[];
  /** The prefixes that requests came with. */
  prefixes: (string | undefined)[];
  /** Requests that are with it. */
  inFlight(): number;
}

export function oneReplica(url: string): OneReplica {
  const said: string[] = [];
  const prefixes: (string | undefined)[] = [];
  const open = new Set<ReplicaLease>();
  const lease = (): ReplicaLease => {
    const held: ReplicaLease = {
      url,
      succeeded: () => void said.push("succeeded"),
      overloaded: () => void said.push("overloaded"),
      faulted: (why) => void said.push(`faulted: ${why}`),
      failed: (why) => void said.push(why),
      [Symbol.dispose]: () => void open.delete(held),
    };
    open.add(held);
    return held;
  };
  return {
    said,
    prefixes,
    inFlight: () => open.size,
    urls: () => [url],
    problem: () => undefined,
    async attempt(choice, attempt) {
      choice.signal.throwIfAborted();
      prefixes.push(choice.prefix);
      const held = lease();
      try {
        return await attempt(held);
      } catch (error) {
        held[Symbol.dispose]();
        throw error instanceof NotBegun ? error.reason : error;
      }
    },
  };
}
