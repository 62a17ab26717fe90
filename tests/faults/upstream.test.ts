/** Replicas of a model elsewhere that die, hang, lie, restart, come and go, while a node in front of them is asked. */
import { afterAll, describe, expect, test } from "bun:test";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { cuttingProxy } from "../support/cutting-proxy.ts";
import { decode } from "../support/decode.ts";
import { type Behaviour, faultyReplica } from "../support/faulty-replica.ts";
import {
  type FrontNode,
  frontNode,
  frontProcess,
  model,
  type UpstreamNode,
  upstreamNode,
} from "../support/replicated-node.ts";
import { frames } from "../support/sse.ts";
import { waitFor } from "../support/wait-for.ts";

/** Asks with many beginnings, so that every replica is somebody's first choice; returns the statuses. */
async function askAll(front: FrontNode, count = 12): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => front.chat(`q${at}`)));
  for (const answer of answers) await answer.text();
  return answers.map(({ status }) => status);
}

const allWell = (count = 12): number[] => Array.from({ length: count }, () => 200);

/** A beginning whose first choice is this replica. */
async function beginningFor(front: FrontNode, { url }: { url: string }): Promise<string> {
  for (let at = 0; ; at++) {
    const before = await front.series("requests_total", url);
    const content = `begin ${at}`;
    await (await front.chat(content, { tokens: 1 })).text();
    if ((await front.series("requests_total", url)) > before) return content;
  }
}

const isUp = (front: FrontNode, { url }: { url: string }): Promise<void> =>
  waitFor(
    `${url} to be up`,
    async () => {
      // On trial it is up once a request was answered there.
      await askAll(front, 6);
      return (await front.series("up", url)) === 1;
    },
    100,
  );

const nodes = new Map<string, UpstreamNode>();
afterAll(async () => {
  for (const node of nodes.values()) await node[Symbol.asyncDispose]();
});

/** One of the nodes that all tests share, started again where a test has ended it. */
async function upstream(name: "one" | "two" | "three"): Promise<UpstreamNode> {
  const node = nodes.get(name) ?? (await upstreamNode());
  nodes.set(name, node);
  await node.start();
  return node;
}

const twoNodes = () => Promise.all([upstream("one"), upstream("two")]);
const threeNodes = () => Promise.all([upstream("one"), upstream("two"), upstream("three")]);

describe("a replica that is killed", () => {
  test("before a request costs nobody an answer, and has its share again when it is back", async () => {
    const [one, two] = await twoNodes();
    await using front = await frontNode([one.url, two.url]);
    one.kill("SIGKILL");
    await one.ended();
    expect(await askAll(front)).toEqual(allWell());
    expect(await front.series("up", one.url)).toBe(0);
    expect(await front.series("retries_total", one.url)).toBeGreaterThan(0);
    expect((await front.ready()).status).toBe(200);
    await one.start();
    await isUp(front, one);
  });

  test("before the first token, with the request in, has it answered by another", async () => {
    const [one, two] = await twoNodes();
    await using front = await frontNode([one.url, two.url]);
    const content = await beginningFor(front, one);
    const before = await front.series("requests_total", one.url);
    // It takes the request and does nothing with it.
    one.kill("SIGSTOP");
    const asked = front.chat(content);
    await waitFor("the request", async () => {
      return (await front.series("requests_total", one.url)) > before;
    });
    one.kill("SIGKILL");
    const answer = await asked;
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ usage: expect.objectContaining({ completion_tokens: 4 }) }),
    ]);
  });

  test("at the first token, half of which has come, has it answered by another", async () => {
    const [one, two] = await twoNodes();
    await using proxy = await cuttingProxy(one);
    await using front = await frontNode([proxy.url, two.url]);
    const content = await beginningFor(front, proxy);
    proxy.cut(() => one.kill("SIGKILL"));
    const answer = await front.chat(content, { stream: true });
    expect(await answer.text()).toContain("data: [DONE]");
    expect(proxy.cuts).toBe(1);
    expect(await front.series("retries_total", proxy.url)).toBe(1);
  });

  test("amid an answer ends it with an error that says so, and nobody asks again", async () => {
    const [one, two] = await twoNodes();
    await using front = await frontNode([one.url, two.url]);
    const content = await beginningFor(front, one);
    const others = await front.series("requests_total", two.url);
    // More than the nodes and the buffers between them hold: it is not over before somebody reads it.
    const more = { logprobs: true, top_logprobs: 20 };
    const answer = await front.chat(content, { tokens: 4000, stream: true, more });
    const seen: string[] = [];
    for await (const frame of frames(answer)) {
      seen.push(frame);
      if (seen.length === 4) one.kill("SIGKILL");
    }
    expect(answer.status).toBe(200);
    expect(seen.at(-1)).toContain('"error"');
    expect(seen.join()).not.toContain("[DONE]");
    expect(await front.series("requests_total", two.url)).toBe(others);
    expect(await askAll(front)).toEqual(allWell());
  });
});

describe("a replica that is there and of no use", () => {
  test("that accepts and never answers is left alone, and found again when it answers", async () => {
    const [one, two] = await twoNodes();
    await using front = await frontNode([one.url, two.url], { upstreamTimeout: 10 });
    const content = await beginningFor(front, one);
    one.kill("SIGSTOP");
    // Whoever finds out is told; a prompt that is slow is not computed by every replica.
    const answer = await front.chat(content);
    expect([answer.status, await front.series("up", one.url)]).toEqual([504, 0]);
    for (let at = 0; at < 6; at++) expect((await front.chat(`after ${at}`)).status).toBe(200);
    one.kill("SIGCONT");
    await isUp(front, one);
  });

  for (const behaviour of ["garbage", "no json", "breaks off"] as const satisfies Behaviour[]) {
    test(`that answers with '${behaviour}' costs nobody an answer`, async () => {
      await using one = await faultyReplica(behaviour);
      const two = await upstream("two");
      await using front = await frontNode([one.url, two.url]);
      expect(await askAll(front)).toEqual(allWell());
      await waitFor("a question", async () => (await front.series("up", one.url)) === 0);
      expect((await front.ready()).status).toBe(200);
    });
  }
});

describe("all replicas", () => {
  test("away: callers are told when to ask again, /ready says so, and it ends by itself", async () => {
    const [one, two] = await twoNodes();
    await using front = await frontNode([one.url, two.url]);
    for (const node of [one, two]) {
      node.kill("SIGKILL");
      await node.ended();
    }
    const refused = await front.chat("hello");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([
      503,
      expect.stringMatching(/^\d+$/),
    ]);
    await waitFor("/ready to say so", async () => (await front.ready()).status === 503, 20);
    await one.start();
    await waitFor("/ready to say so", async () => (await front.ready()).status === 200, 20);
    expect(await askAll(front)).toEqual(allWell());
  });

  test("have conversations: each second turn finds its first one evaluated, as at one server", async () => {
    const three = await threeNodes();
    await using front = await frontNode(three.map(({ url }) => url));
    const cachedShare = async (turns: readonly string[]): Promise<number> => {
      const { usage } = await decode(ChatCompletion, await front.chat(turns));
      return (usage.prompt_tokens_details?.cached_tokens ?? 0) / usage.prompt_tokens;
    };
    const requests = (): Promise<number[]> =>
      Promise.all(three.map(({ url }) => front.series("requests_total", url)));
    // Which server a conversation goes to follows from the servers' ports: as many as it takes for each.
    for (let at = 0; at < 6 || (await requests()).some((count) => count < 2); at++) {
      const talk = `Talk ${at}: what do llamas eat, and why?`;
      await cachedShare([talk]);
      expect(await cachedShare([talk, "Grass.", "And why?"])).toBeGreaterThan(0.4);
    }
  });

  test("restarted one after another under load: no request is lost", async () => {
    const three = await threeNodes();
    await using front = await frontProcess(three.map(({ url }) => url));
    let isOver = false;
    const [busyMs, startingMs] = [10, 500];
    let pauseMs = busyMs;
    const outcomes = new Map<string, number>();
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let turn = 0; !isOver; turn++) {
        const stream = (client + turn) % 2 === 0;
        const answer = await front.chat(`client ${client} ${turn}`, { tokens: 10, stream });
        const text = await answer.text();
        const isWhole = stream ? text.endsWith("data: [DONE]\n\n") : text.includes('"usage"');
        const outcome = `${answer.status} ${isWhole ? "whole" : text}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        await Bun.sleep(pauseMs);
      }
    });
    for (const node of three) {
      pauseMs = busyMs;
      await waitFor("an answer", async () => (await front.series("in_flight", node.url)) > 0, 5);
      node.kill("SIGTERM");
      expect(await node.ended()).toBe(0);
      // A node that starts has the machine to itself, almost.
      pauseMs = startingMs;
      await node.start();
      await waitFor("its share", async () => (await front.series("up", node.url)) === 1, 100);
    }
    pauseMs = busyMs;
    await waitFor("many outcomes", () => [...outcomes.values()].some((count) => count > 50));
    isOver = true;
    await Promise.all(clients);
    expect([...outcomes.keys()]).toEqual(["200 whole"]);
  });

  test("change while the node runs: what is in progress goes on, and new requests go to the new ones", async () => {
    const [one, two] = await twoNodes();
    await using front = await frontProcess([one.url]);
    const running = await front.chat("a long one", { tokens: 800, stream: true });
    const { code, stdout } = await front.reload([two.url]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`models.${model}.source`)]);
    expect(await askAll(front)).toEqual(allWell());
    expect(await front.series("requests_total", two.url)).toBe(12);
    expect(await front.series("up", one.url)).toBeNaN();
    expect(await running.text()).toContain("data: [DONE]");
    const both = await front.reload([two.url, one.url]);
    expect(both.stdout).toContain(`In force now: models.${model}.replicas.`);
    await isUp(front, one);
  });
});
