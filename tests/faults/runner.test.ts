/** The process of a model dies, however and whenever. */
import { describe, expect, test } from "bun:test";
import {
  chatBody,
  embeddingBody,
  nodeUnderFault,
  sharedNode,
  slots,
} from "../support/node-under-fault.ts";
import { isAlive, runnerOf } from "../support/process-tree.ts";
import { frames } from "../support/sse.ts";
import { waitFor } from "../support/wait-for.ts";

const startedNode = sharedNode();

const long = (content: string, tokens: number) => chatBody(content, tokens, { stream: true });
const prompt = "a long prompt ".repeat(100);

/** Says whether another call of the model has left its queue since. */
async function nextCallOf(
  { node }: { node: { origin: string } },
  model: string,
): Promise<() => Promise<boolean>> {
  const started = async (): Promise<number> => {
    const metrics = await (await fetch(`${node.origin}/metrics`)).text();
    const line = new RegExp(`^paddock_queue_seconds_count\\{model="${model}"\\} (\\d+)$`, "m");
    return Number(line.exec(metrics)?.[1] ?? 0);
  };
  const before = await started();
  return async () => (await started()) > before;
}

test("a runner that ends by its own fault, again and again: /ready says so between, and it comes back", async () => {
  const under = await startedNode();
  for (const how of ["SIGSEGV", "SIGABRT", "SIGBUS"] as const) {
    process.kill(await runnerOf(under.node.process.pid, "tiny-chat"), how);
    let said = await under.ready();
    await waitFor("/ready to say so", async () => {
      said = await under.ready();
      return said.status !== 200;
    });
    expect(said).toEqual({
      status: 503,
      reasons: ["The model 'tiny-chat' is being started again."],
    });
    await under.expectWell();
  }
  const metrics = await (await fetch(`${under.node.origin}/metrics`)).text();
  expect(metrics).toContain('paddock_runner_restarts_total{model="tiny-chat"} 3\n');
});

describe("a Ctrl-C, which reaches the node and its runners alike,", () => {
  test("lets answers in progress end, and leaves no process behind", async () => {
    const under = await startedNode();
    const { pid } = under.node.process;
    const runners = [await runnerOf(pid, "tiny-chat"), await runnerOf(pid, "tiny-embedding")];
    const reader = frames(await under.post("/chat/completions", long("go on", 500)));
    await reader.next();
    for (const each of [...runners, pid]) process.kill(each, "SIGINT");
    expect((await Array.fromAsync(reader)).at(-1)).toBe("[DONE]");
    expect(await under.node.exit()).toBe(0);
    expect(runners.filter(isAlive)).toEqual([]);
  });
});

describe("a runner that is killed", () => {
  test("mid-prompt: its requests are answered with 503 at once, and it is back", async () => {
    const under = await startedNode();
    const runner = await runnerOf(under.node.process.pid, "tiny-chat");
    const hasBegun = await nextCallOf(under, "tiny-chat");
    const asked = Array.from({ length: slots }, (_, at) =>
      under.post("/chat/completions", chatBody(`${prompt}${at}`, 100)),
    );
    await waitFor("a prompt to be evaluated", hasBegun);
    process.kill(runner, "SIGKILL");
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toContain(503);
    for (const response of answers) {
      // One that had not begun yet is served by the next process.
      if (response.status === 200) continue;
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
      expect(await response.json()).toMatchObject({
        error: { message: expect.stringContaining("'tiny-chat' ended while it answered") },
      });
    }
    await under.expectWell();
  });

  test("mid-stream: streams end with an error frame, those who wait are answered", async () => {
    const under = await startedNode();
    const streams = await Promise.all(
      Array.from({ length: slots }, (_, at) =>
        under.post("/chat/completions", long(`${at}`, 1900)),
      ),
    );
    const readers = streams.map((stream) => frames(stream));
    for (const reader of readers) await reader.next();
    const waiting = under.post("/chat/completions", chatBody("later", 3));
    process.kill(await runnerOf(under.node.process.pid, "tiny-chat"), "SIGKILL");
    for (const reader of readers) {
      const rest = await Array.fromAsync(reader);
      expect(rest.at(-1)).toContain('{"error":{"message":"The process that runs the model');
      expect(rest).not.toContain("[DONE]");
    }
    expect((await waiting).status).toBe(200);
    await under.expectWell();
  });

  test("during embeddings: they are answered with 503, chats go on undisturbed", async () => {
    const under = await startedNode();
    const stream = await under.post("/chat/completions", long("go on", 300));
    const many = Array.from({ length: 2000 }, (_, at) => `text number ${at}`);
    const runner = await runnerOf(under.node.process.pid, "tiny-embedding");
    const hasBegun = await nextCallOf(under, "tiny-embedding");
    const embedding = under.post("/embeddings", embeddingBody(many));
    await waitFor("the embedding to begin", hasBegun);
    process.kill(runner, "SIGKILL");
    expect((await embedding).status).toBe(503);
    expect((await Array.fromAsync(frames(stream))).at(-1)).toBe("[DONE]");
    await under.expectWell();
  });
});

describe("a runner that lives and does nothing", () => {
  test("is noticed, said by /ready, ended and started again; its requests are not lost for ever", async () => {
    await using under = await nodeUnderFault({ engine: "heartbeat_timeout = 4" });
    const { pid } = under.node.process;
    const stream = frames(await under.post("/chat/completions", long("go on", 1900)));
    await stream.next();
    const runner = await runnerOf(pid, "tiny-chat");
    process.kill(runner, "SIGSTOP");
    const waiting = under.post("/chat/completions", chatBody("anybody?", 3));
    const reasons = new Set<string>();
    const hasEnded = async (): Promise<boolean> => {
      for (const reason of (await under.ready()).reasons) reasons.add(reason);
      return !isAlive(runner);
    };
    await waitFor("the end of the runner", hasEnded, 20);
    expect([...reasons].join(" ")).toContain("'tiny-chat' has left its heartbeat unanswered for");
    // What it had begun is lost, what it had not is answered by the next.
    expect((await Array.fromAsync(stream)).at(-1)).toContain('{"error":{"message":"The process');
    expect((await waiting).status).toBe(200);
    await under.expectWell();
    const metrics = await (await fetch(`${under.node.origin}/metrics`)).text();
    expect(metrics).toMatch(/paddock_runner_hangs_total\{model="tiny-chat"\} [1-9]/);
    expect(metrics).toMatch(/paddock_runner_restarts_total\{model="tiny-chat"\} [1-9]/);
    expect(under.node.stderr()).toContain("no heartbeat for 4 s");
  });
});

describe("a node that is killed", () => {
  test("takes its runners with it, also while they are at work", async () => {
    const under = await startedNode();
    const { pid } = under.node.process;
    const runners = [await runnerOf(pid, "tiny-chat"), await runnerOf(pid, "tiny-embedding")];
    await under.post("/chat/completions", long("go on", 1900));
    under.node.process.kill("SIGKILL");
    await under.node.exit();
    await waitFor("the end of the runners", () => !runners.some(isAlive));
    await under.restart();
    await under.expectWell();
  });

  test("takes a runner with it that does nothing any more", async () => {
    const under = await startedNode();
    const runner = await runnerOf(under.node.process.pid, "tiny-chat");
    process.kill(runner, "SIGSTOP");
    try {
      await under.stop("SIGKILL");
      await waitFor("the end of the runner", () => !isAlive(runner));
    } finally {
      if (isAlive(runner)) process.kill(runner, "SIGKILL");
    }
  });
});

describe("a node that is asked to stop", () => {
  test("ends a runner that does nothing any more", async () => {
    const under = await startedNode();
    const runner = await runnerOf(under.node.process.pid, "tiny-chat");
    process.kill(runner, "SIGSTOP");
    under.node.process.kill("SIGTERM");
    expect(await under.node.exit()).toBe(0);
    expect(isAlive(runner)).toBe(false);
  });
});
