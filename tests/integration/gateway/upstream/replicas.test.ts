import { describe, expect, test } from "bun:test";
import { NodeError, reasonOf } from "../../../../src/core/errors.ts";
import { NotBegun, type ReplicaChoice } from "../../../../src/gateway/replicas/replica.ts";
import { ReplicaSet } from "../../../../src/gateway/replicas/replica-set.ts";
import {
  type Behaviour,
  type FaultyReplica,
  faultyReplica,
} from "../../../support/faulty-replica.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { waitFor } from "../../../support/wait-for.ts";

/** How long one that hangs is waited for; one that does not may be as slow as the machine. */
const silenceMs = 100;

/** Asks as an engine does: what is no answer is not begun. */
async function fetchList({ url, behaviour }: FaultyReplica, signal: AbortSignal): Promise<unknown> {
  const bounded =
    behaviour === "hangs" ? AbortSignal.any([signal, AbortSignal.timeout(silenceMs)]) : signal;
  const response = await fetch(`${url}/models`, { signal: bounded, keepalive: false });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return await response.json();
}

async function replicasOf(...behaviours: Behaviour[]) {
  const resources = new AsyncDisposableStack();
  const servers: FaultyReplica[] = [];
  for (const behaviour of behaviours) servers.push(resources.use(await faultyReplica(behaviour)));
  const serverAt = (url: string): FaultyReplica => {
    const server = servers.find((one) => one.url === url);
    if (server === undefined) throw new Error(`No server at ${url}`);
    return server;
  };
  const { log, lines } = recordingLog();
  const set = resources.use(
    new ReplicaSet({
      model: "llama",
      urls: servers.map(({ url }) => url),
      probe: async (url, signal) => void (await fetchList(serverAt(url), signal)),
      backoff: { firstPauseMs: 20, longestPauseMs: 100 },
      log,
    }),
  );
  const ask = (choice: Partial<ReplicaChoice> = {}): Promise<unknown> => {
    const whole = { signal: new AbortController().signal, ...choice };
    return set.attempt(whole, async (lease) => {
      using _ = lease;
      try {
        const body = await fetchList(serverAt(lease.url), whole.signal);
        lease.succeeded();
        return body;
      } catch (error) {
        whole.signal.throwIfAborted();
        if (reasonOf(error) === "status 503") lease.overloaded(600_000);
        else lease.failed(reasonOf(error));
        throw new NotBegun(new NodeError("unavailable", "It does not answer."));
      }
    });
  };
  const states = () => set.status().map(({ state }) => state);
  return {
    set,
    servers,
    lines,
    ask,
    states,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const list = expect.objectContaining({ object: "list" });

describe("replicas as servers", () => {
  for (const behaviour of ["hangs", "breaks off", "garbage", "no json"] as const) {
    test(`one that ${behaviour === "hangs" || behaviour === "breaks off" ? behaviour : `answers ${behaviour}`} is left alone, and its requests are answered by another`, async () => {
      await using replicas = await replicasOf(behaviour, "well");
      for (let time = 0; time < 4; time++) expect(await replicas.ask()).toEqual(list);
      expect(replicas.states()).toEqual([expect.stringMatching(/out|trial/), "up"]);
      expect(replicas.lines[0]?.fields).toMatchObject({ replica: replicas.servers[0]?.url });
    });

    test(`one that ${behaviour} comes back by itself, once it answers`, async () => {
      await using replicas = await replicasOf(behaviour, "well");
      const [bad] = replicas.servers;
      if (bad === undefined) throw new Error("No server");
      await replicas.ask();
      bad.behaviour = "well";
      await waitFor("an answer to the question", () => replicas.states()[0] === "trial");
      for (let time = 0; time < 4; time++) expect(await replicas.ask()).toEqual(list);
      expect(replicas.states()).toEqual(["up", "up"]);
    });
  }

  test("one that refuses connections is asked how it is, and used when it listens again", async () => {
    await using replicas = await replicasOf("well", "well");
    const [away, other] = replicas.servers;
    if (away === undefined || other === undefined) throw new Error("No server");
    await away.stop();
    for (let time = 0; time < 6; time++) expect(await replicas.ask()).toEqual(list);
    expect(other.asked).toHaveLength(6);
    await away.start();
    await waitFor("an answer to the question", () => replicas.states()[0] === "trial");
    expect(away.asked).toEqual(["/v1/models"]);
    for (let time = 0; time < 4; time++) await replicas.ask();
    expect(replicas.states()).toEqual(["up", "up"]);
  });

  test("one that is busy is spared, and is not taken for ill", async () => {
    await using replicas = await replicasOf("busy", "well");
    for (let time = 0; time < 5; time++) expect(await replicas.ask()).toEqual(list);
    expect(replicas.states()).toEqual(["up", "up"]);
    expect(replicas.servers[0]?.asked).toHaveLength(1);
  });

  test("none of many requests at once is lost where two of three fail", async () => {
    await using replicas = await replicasOf("breaks off", "hangs", "well");
    const asked = Array.from({ length: 60 }, (_, at) => replicas.ask({ prefix: `talk ${at}` }));
    expect(await Promise.all(asked)).toEqual(asked.map(() => list));
  });

  test("a caller that leaves ends its request at one that hangs, and asks no other", async () => {
    await using replicas = await replicasOf("hangs", "hangs");
    const left = new AbortController();
    const asked = replicas.ask({ signal: left.signal });
    await waitFor("the request", () =>
      replicas.servers.some(({ asked: paths }) => paths.length > 0),
    );
    left.abort(new Error("the client left"));
    expect(await rejectionOf(asked)).toEqual(new Error("the client left"));
    expect(replicas.servers.flatMap(({ asked: paths }) => paths)).toHaveLength(1);
    expect(replicas.states()).toEqual(["up", "up"]);
  });

  test("where all are away the caller is told so, and served once one is back", async () => {
    await using replicas = await replicasOf("well", "well");
    for (const server of replicas.servers) await server.stop();
    const error = await rejectionOf(replicas.ask());
    expect(error).toEqual(new NodeError("unavailable", "It does not answer."));
    await waitFor("the problem", () => replicas.set.problem() !== undefined);
    await replicas.servers[1]?.start();
    await waitFor("its end", () => replicas.set.problem() === undefined);
    expect(await replicas.ask()).toEqual(list);
  });
});
