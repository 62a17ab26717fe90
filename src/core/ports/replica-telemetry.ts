/** What the replicas of models elsewhere tell of themselves, and who hears it. */

/** Something that happened with a replica; `url` has no credentials. */
export type ReplicaEvent =
  /** A request was given to it. */
  | { type: "asked"; url: string }
  /** A request failed there, or it did not answer when it was asked how it is. */
  | { type: "failed"; url: string; why: string }
  /** A request that it had not begun was given to another. */
  | { type: "given-on"; url: string }
  /** It is none of the replicas any more. */
  | { type: "removed"; url: string };

/** `out`: left alone after failures; `trial`: one request at a time shows whether it is up. */
export type ReplicaState = "up" | "out" | "trial";

/** How a replica is now. */
export interface ReplicaStatus {
  url: string;
  state: ReplicaState;
  /** Requests that are with it. */
  inFlight: number;
}

export interface ReplicaTelemetry {
  /** Something happened with a replica of a model. */
  happened(model: string, event: ReplicaEvent): void;
  /** Has the replicas of a model reported until the answer is disposed. */
  watch(model: string, status: () => readonly ReplicaStatus[]): Disposable;
}
