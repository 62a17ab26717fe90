/** The walk of docs/scaling.md, from one node to two with three engines: its files and commands as they stand. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { installed } from "../support/installed-program.ts";
import { qdrantForTests } from "../support/qdrant-server.ts";
import { hasRedis } from "../support/redis-server.ts";
import { type ScalingWalk, scalingWalk } from "../support/scaling-walk.ts";
import { waitFor } from "../support/wait-for.ts";

const programs = [
  ...["nginx", "curl", "openssl"].map((name) => installed(name)),
  installed("setsid", "util-linux"),
];
const canWalk =
  hasRedis && programs.every((path) => path !== undefined) && qdrantForTests()?.isOwn === true;

describe.skipIf(!canWalk)("the walk from one node to two", () => {
  let walk: ScalingWalk;
  let ada: Asking;
  let others: Traffic;
  let first: Awaited<ReturnType<Asking["all"]>>;

  beforeAll(async () => {
    walk = await scalingWalk();
  });
  afterAll(async () => {
    await others?.stop();
    await walk?.[Symbol.asyncDispose]();
  });

  test("begins with one node behind a proxy", async () => {
    await walk.take(1);
    // Somebody without limits, who asks all along.
    await walk.shell.run("paddock keys create reader --data-dir node-1 > reader.key");
    const baseURL = `${walk.origin(8080)}/v1`;
    ada = new Asking(baseURL, await walk.read("ada.key"));
    first = await ada.all();
    expect(first).toMatchObject({ models: ["chat", "embedding"], passages: [expect.any(String)] });
    expect(first.chat).not.toBe("");
    expect(first.streamed).toBe(first.chat);
    others = new Traffic(new Asking(baseURL, await walk.read("reader.key"), asUsual));
  });

  test.each([
    [2, "three engines start"],
    [3, "passages and keys are copied to the servers that nodes share"],
    [4, "a second node joins, with the engines' models"],
    [5, "the first node is started again, like the second"],
  ])("step %i: %s, and clients get the same answers", async (step) => {
    await walk.take(step);
    const answers = others.answers;
    expect(await ada.all()).toEqual(first);
    await waitFor("further answers to others", () => others.answers > answers + 10);
    expect(others.failures).toEqual([]);
  });

  const bothNodes = () => [8081, 8082].map((port) => `${walk.origin(port)}/v1`);

  test("step 6: keys and passages are those of both nodes", async () => {
    await walk.take(6, { from: 0, to: 1 });
    const bob = await walk.read("bob.key");
    for (const node of bothNodes()) {
      const asking = new Asking(node, bob);
      await waitFor("its key", async () => (await asking.status()) === 200);
      const { passages } = await asking.all();
      expect(passages).toHaveLength(2);
    }
    await walk.take(6, { from: 1, to: 2 });
    for (const node of bothNodes()) {
      await waitFor("it to be refused", async () => (await new Asking(node, bob).status()) === 401);
    }
  });

  test("both nodes answer, and hold a caller to one limit together", async () => {
    const began = performance.now();
    const statuses = await Promise.all(Array.from({ length: 150 }, () => ada.status()));
    const refilled = Math.ceil((performance.now() - began) / 1000);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect(statuses).toContain(429);
    // Each node by itself would have let in as many.
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(60 + refilled);
    await others.stop();
    expect(others.failures).toEqual([]);
    const reader = await walk.read("reader.key");
    for (const node of bothNodes()) expect(await answered(node, reader)).toBeGreaterThan(0);
  });
});

/** How many chats a node has answered. */
async function answered(baseURL: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const page = await (await fetch(baseURL.replace("/v1", "/metrics"), { headers })).text();
  return Number(/^paddock_requests_total\{[^}]*operation="chat"[^}]*\} (\d+)/m.exec(page)?.[1]);
}

/**
 * The package asks again by itself what a node refuses for a moment, as one on a busy machine may
 * while the other is away; rolling-restart.test.ts counts every refusal.
 */
const asUsual = 2;

/** A caller with the openai client, which is told not to ask again by itself. */
class Asking {
  readonly #client: OpenAI;

  constructor(baseURL: string, apiKey: string, maxRetries = 0) {
    this.#client = new OpenAI({ baseURL, apiKey, maxRetries });
  }

  async chat(tokens: number): Promise<string> {
    const answer = await this.#client.chat.completions.create(question(tokens));
    return answer.choices[0]?.message.content ?? "";
  }

  async stream(tokens: number): Promise<string> {
    const chunks = await this.#client.chat.completions.create({
      ...question(tokens),
      stream: true,
    });
    let text = "";
    let isWhole = false;
    for await (const { choices } of chunks) {
      text += choices[0]?.delta.content ?? "";
      isWhole ||= choices[0]?.finish_reason === "length";
    }
    if (!isWhole) throw new Error("A stream ended without a reason");
    return text;
  }

  async embed(): Promise<number[]> {
    const { data } = await this.#client.embeddings.create({ model: "embedding", input: "hello" });
    return data[0]?.embedding ?? [];
  }

  /** The status of an answer. */
  async status(): Promise<number> {
    const asked = this.#client.embeddings.create({ model: "embedding", input: "a" });
    const failed = await asked.then(
      () => undefined,
      (error) => error,
    );
    if (failed === undefined) return 200;
    return failed instanceof OpenAI.APIError ? (failed.status ?? 0) : 0;
  }

  async all() {
    const list = await Array.fromAsync(this.#client.models.list());
    const body = { model: "embedding", messages: question(1).messages };
    const found = await this.#client.post("/retrieve", { body }).asResponse();
    const { points } = await decode(RetrieveResult, found);
    return {
      models: list.map(({ id }) => id),
      chat: await this.chat(12),
      streamed: await this.stream(12),
      // What travels as text loses nothing that a search would notice.
      vector: (await this.embed()).map((value) => value.toFixed(5)),
      passages: points.map(({ source }) => source),
    };
  }
}

const question = (tokens: number) =>
  ({
    model: "chat",
    messages: [{ role: "user", content: "When does the library open?" }],
    temperature: 0,
    seed: 7,
    max_tokens: tokens,
    // Without the end token an answer is as long as it may be.
    logit_bias: { "2": -100 },
  }) satisfies Partial<OpenAI.ChatCompletionCreateParams>;

/** Asks without a pause until it is stopped: chats, streams that take a while, embeddings. */
class Traffic {
  answers = 0;
  readonly failures: string[] = [];
  readonly #ended: Promise<unknown>;
  #isOver = false;

  constructor(asking: Asking) {
    const kinds = [() => asking.chat(20), () => asking.stream(300), () => asking.embed()];
    this.#ended = Promise.all(kinds.map((ask) => this.#repeat(ask)));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #repeat(ask: () => Promise<unknown>): Promise<void> {
    while (!this.#isOver) {
      try {
        await ask();
        this.answers++;
      } catch (error) {
        this.failures.push(String(error));
        await Bun.sleep(50);
      }
    }
  }
}
