/** A set of replicas on a clock that the test turns, and what it told. */
import { NodeError } from "../../src/core/errors.ts";
import type { ReplicaEvent } from "../../src/core/ports/telemetry.ts";
import {
  NotBegun,
  type ReplicaChoice,
  type ReplicaLease,
} from "../../src/gateway/replicas/replica.ts";
import { ReplicaSet, type ReplicaSetOptions } from "../../src/gateway/replicas/replica-set.ts";
import { fakeClock } from "./fake-clock.ts";
import { recordingLog } from "./recording-log.ts";

export const urlsOf = (...names: string[]): string[] => names.map((name) => `http://${name}/v1`);

export const choiceOf = (choice: Partial<ReplicaChoice> = {}): ReplicaChoice => ({
  signal: new AbortController().signal,
  ...choice,
});

export const notBegun = (why: string): NotBegun => new NotBegun(new NodeError("unavailable", why));

export function testReplicas(urls: readonly string[], options: Partial<ReplicaSetOptions> = {}) {
  const clock = fakeClock();
  const events: ReplicaEvent[] = [];
  const { log, lines } = recordingLog();
  const set = new ReplicaSet({
    model: "llama",
    urls,
    clock,
    random: () => 1,
    log,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  /** A request that is answered and goes on until its lease is disposed of. */
  const begin = (choice: Partial<ReplicaChoice> = {}): Promise<ReplicaLease> =>
    set.attempt(choiceOf(choice), async (lease) => {
      lease.succeeded();
      return lease;
    });
  /** The same, ended at once; returns who answered. */
  const ask = async (choice: Partial<ReplicaChoice> = {}): Promise<string> => {
    using lease = await begin(choice);
    return lease.url;
  };
  /** A request that those which are `bad` fail before its answer begins; returns who was asked, in order. */
  const askAround = async (
    bad: readonly string[],
    choice: Partial<ReplicaChoice> = {},
  ): Promise<{ asked: string[]; error?: unknown }> => {
    const asked: string[] = [];
    try {
      await set.attempt(choiceOf(choice), async (lease) => {
        using _ = lease;
        const { url } = lease;
        asked.push(url);
        if (!bad.includes(url)) return lease.succeeded();
        lease.failed("connection refused");
        throw notBegun(`${url} is away`);
      });
      return { asked };
    } catch (error) {
      return { asked, error };
    }
  };
  const states = (): string[] => set.status().map(({ state }) => state);
  return { set, clock, events, lines, begin, ask, askAround, states };
}
