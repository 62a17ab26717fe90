/** The addresses of a model that runs elsewhere, as what asks them sees them: made here and nowhere else. */
import { NodeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { NotBegun } from "../upstream/replicas/not-begun.ts";
import type { ReplicaLease, Replicas } from "../upstream/replicas/replica.ts";

export interface ReplicasOptions {
  /** The model in a sentence: `the model 'llama-70b'`. */
  named: string;
  /** Each once; at least one. */
  urls: readonly string[];
  /** The key that its servers want. */
  key?: string;
  log: Log;
}

/** In the order of the configuration, without routing. */
export function openReplicas({ named, urls }: ReplicasOptions): Replicas & Disposable {
  let failure: string | undefined;
  const leaseOf = (url: string): ReplicaLease => ({
    replica: { url },
    succeeded: () => {
      failure = undefined;
    },
    overloaded: () => {
      failure = undefined;
    },
    failed: (why) => {
      failure = why;
    },
    [Symbol.dispose]: () => {},
  });
  return {
    all: () => urls.map((url) => ({ url })),
    problem: () =>
      failure === undefined ? undefined : `The server of ${named} fails: ${failure}.`,
    async attempt({ signal, isRepeatable }, attempt) {
      let reason: NodeError | undefined;
      for (const url of urls) {
        signal.throwIfAborted();
        try {
          return await attempt(leaseOf(url));
        } catch (error) {
          if (!(error instanceof NotBegun)) throw error;
          ({ reason } = error);
          if (!isRepeatable) break;
        }
      }
      throw reason ?? new NodeError("unavailable", `There is no server of ${named}.`);
    },
    [Symbol.dispose]: () => {},
  };
}
