/** What a set of replicas tells of itself. */
import type { CircuitState } from "./circuit.ts";

/** Something that happened with a replica. */
export type ReplicaEvent =
  /** A request was given to it. */
  | { type: "asked"; url: string }
  /** A request failed there, or it did not answer when it was asked how it is. */
  | { type: "failed"; url: string; why: string }
  /** A request that it had not begun was given to another. */
  | { type: "given-on"; url: string }
  /** It is none of the replicas any more. */
  | { type: "removed"; url: string };

/** How a replica is now. */
export interface ReplicaStatus {
  url: string;
  state: CircuitState;
  /** Requests that are with it. */
  inFlight: number;
}
