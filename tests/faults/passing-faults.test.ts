/** Faults of a server that pass, or that one caller's requests have: others are answered, and nothing is left of them. */
import { describe, expect, test } from "bun:test";
import { front, frontModel } from "../support/front-of-servers.ts";
import { frame, modelList, openAiServer, streamOf } from "../support/openai-server.ts";
import { recordedVllm, vllmModel } from "../support/recorded-vllm.ts";
import { openFarReranker, targetAt } from "../support/upstream.ts";

describe("a server that fails at some requests", () => {
  const failing = (status: number) => (): Response =>
    Response.json({ error: { message: "It is too large to process." } }, { status });
  test.each([
    ["with 500", failing(500)],
    ["with 502", failing(502)],
    ["with 504", failing(504)],
    ["by breaking off", () => streamOf([])],
  ])(
    "%s is not taken from others, however many one caller sends",
    async (_, fail) => {
      await using server = recordedVllm({
        instead: ({ path, body }) => {
          if (path !== "/v1/chat/completions" || Object(body).messages.length === 0)
            return undefined;
          return JSON.stringify(body).includes("too large")
            ? fail()
            : streamOf([frame("Hi", "stop")]);
        },
      });
      await using node = await front(frontModel("chat", server.url));
      await node.prepare();
      const chat = async (content: string): Promise<number> => {
        const messages = [{ role: "user", content }];
        const answer = await node.ask("/v1/chat/completions", { model: "far-chat", messages });
        await answer.text();
        return answer.status;
      };
      let isOver = false;
      const asked = Array.from({ length: 16 }, async (_, at) => {
        for (let time = 0; !isOver; time++) {
          await chat(`too large ${at} ${time}`);
          await Bun.sleep(20);
        }
      });
      const seen = new Set<unknown>();
      for (let at = 0; at < 40; at++) {
        await Bun.sleep(100);
        seen.add((await node.ready()).status).add(await chat(`fine ${at}`));
      }
      isOver = true;
      await Promise.all(asked);
      expect(seen).toEqual(new Set(["ready", 200]));
    },
    30_000,
  );
});

test.each([1, 2])(
  "a server that cannot be reached whenever it is to tokenize answers chats (%i replicas)",
  async (count) => {
    await using resources = new AsyncDisposableStack();
    let isBroken = false;
    const urls = Array.from({ length: count }, () => {
      const server = recordedVllm({
        instead: ({ path }) => {
          if (!isBroken) return undefined;
          if (path === "/tokenize") return new Response("", { status: 502 });
          return path === "/v1/chat/completions" ? streamOf([frame("Hi", "stop")]) : undefined;
        },
      });
      return resources.use(server).url;
    });
    const [first = "", ...others] = urls;
    const replicas = `replicas = [${others.map((url) => `"${url}/v1"`).join(", ")}]`;
    await using node = await front(frontModel("chat", first, replicas));
    await node.prepare();
    isBroken = true;
    let isOver = false;
    const counting = Array.from({ length: 3 }, async (_, at) => {
      for (let time = 0; !isOver; time++) {
        await node.ask("/v1/tokenize", { model: "far-chat", prompt: `text ${at} ${time}` });
        await Bun.sleep(20);
      }
    });
    const seen = new Set<unknown>();
    for (let at = 0; at < 60; at++) {
      await Bun.sleep(100);
      const chats = Array.from({ length: 4 }, async (_, each) => {
        const messages = [{ role: "user", content: `fine ${at} ${each}` }];
        const answer = await node.ask("/v1/chat/completions", { model: "far-chat", messages });
        await answer.text();
        return answer.status;
      });
      for (const status of await Promise.all(chats)) seen.add(status);
      seen.add((await node.ready()).status);
    }
    isOver = true;
    await Promise.all(counting);
    expect(seen).toEqual(new Set(["ready", 200]));
  },
  30_000,
);

test("four of five replicas that take another key now cost nobody an answer", async () => {
  let isRotated = false;
  const serverWith = (isLeft: boolean) =>
    recordedVllm({
      instead: ({ path }) =>
        path === "/v1/embeddings" && isRotated && isLeft
          ? Response.json({ error: { message: "Invalid API key" } }, { status: 401 })
          : undefined,
    });
  await using resources = new AsyncDisposableStack();
  const urls = [true, true, true, true, false].map(
    (isLeft) => resources.use(serverWith(isLeft)).url,
  );
  const [first = "", ...others] = urls;
  const replicas = `replicas = [${others.map((url) => `"${url}/v1"`).join(", ")}]`;
  await using node = await front(frontModel("embedding", first, replicas));
  await node.prepare();
  isRotated = true;
  for (let at = 0; at < 10; at++) {
    const answer = await node.ask("/v1/embeddings", { model: "far-embedding", input: `${at}` });
    expect(answer.status).toBe(200);
  }
});

test("a reranking server that gave logits for a while has its probabilities as they are again", async () => {
  let score = 0.25;
  await using server = recordedVllm({
    instead: ({ path, body }) => {
      if (path !== "/v1/rerank") return undefined;
      const documents: unknown[] = Object(body).documents;
      return Response.json({
        results: documents.map((_, index) => ({ index, relevance_score: score })),
      });
    },
  });
  const { target } = targetAt(`${server.url}/v1`, { upstreamModel: vllmModel });
  await using model = await openFarReranker(target);
  const { signal } = new AbortController();
  const passages = Array.from({ length: 100 }, (_, at) => `${at}`);
  const rank = async () => (await model.engine.rank("Which?", passages, { signal })).scores[0];
  expect(await rank()).toBe(0.25);
  score = 4;
  expect(await rank()).toBeCloseTo(0.982);
  score = 0.25;
  // They may be logits that are near to 0 by chance.
  expect(await rank()).toBeCloseTo(0.562);
  for (let time = 0; time < 10; time++) await rank();
  expect(await rank()).toBe(0.25);
});

test("a server that does not say what it is for a moment is asked again", async () => {
  let isLoading = true;
  await using server = openAiServer(({ path, body }) => {
    if (path === "/v1/models") return modelList(vllmModel);
    if (path === "/apply-template") return Response.json({ prompt: "Hello" });
    if (path === "/tokenize") return Response.json({ tokens: [1, 2] });
    if (path === "/props") {
      if (!isLoading) return Response.json({ default_generation_settings: { n_ctx: 32_768 } });
      isLoading = false;
      return Response.json({ error: { message: "Loading model" } }, { status: 503 });
    }
    if (path !== "/v1/chat/completions") return undefined;
    return Object(body).messages.length === 0
      ? Response.json({ error: { message: "'messages' is empty." } }, { status: 400 })
      : streamOf([frame("Hi", "stop")]);
  });
  await using node = await front(frontModel("chat", server.url));
  await node.prepare();
  expect(await (await node.ask("/v1/info")).json()).toMatchObject({
    models: [{ ctx_size: 32_768, upstream: { server: "llama-server" } }],
  });
});

test("where all of many replicas are full, a request is soon asked of three of them only", async () => {
  let asked = 0;
  let isFull = false;
  const servers = Array.from({ length: 8 }, () =>
    recordedVllm({
      instead: ({ path }) => {
        if (path !== "/v1/embeddings" || !isFull) return undefined;
        asked++;
        return Response.json({ error: { message: "Too many requests" } }, { status: 429 });
      },
    }),
  );
  await using resources = new AsyncDisposableStack();
  const [first = "", ...others] = servers.map((server) => resources.use(server).url);
  const replicas = `replicas = [${others.map((url) => `"${url}/v1"`).join(", ")}]`;
  await using node = await front(frontModel("embedding", first, replicas));
  await node.prepare();
  const embed = async (input: string): Promise<number> =>
    (await node.ask("/v1/embeddings", { model: "far-embedding", input })).status;
  isFull = true;
  const counts: number[] = [];
  for (let at = 0; at < 3; at++) {
    asked = 0;
    expect(await embed(`${at}`)).toBe(429);
    counts.push(asked);
  }
  expect(counts).toEqual([8, 3, 3]);
  isFull = false;
  expect(await embed("fine")).toBe(200);
});

test.each([
  ["that hold nothing", [], 0],
  ["that end without a reason", [frame("Par")], 6],
  [
    "that end in an error",
    [frame("Par"), 'data: {"error":{"message":"CUDA error","code":500}}\n\n'],
    6,
  ],
] as const)(
  "of two replicas, one whose answers are streams %s is left alone",
  async (_, frames, mostLost) => {
    let isBroken = false;
    await using broken = recordedVllm({
      instead: ({ path, body }) =>
        isBroken && path === "/v1/chat/completions" && Object(body).messages.length > 0
          ? streamOf([...frames, "data: [DONE]\n\n"])
          : undefined,
    });
    await using well = recordedVllm({});
    await using node = await front(frontModel("chat", well.url, `replicas = ["${broken.url}/v1"]`));
    await node.prepare();
    isBroken = true;
    let failed = 0;
    for (let at = 0; at < 30; at++) {
      const messages = [{ role: "user", content: `${at}` }];
      const answer = await node.ask("/v1/chat/completions", { model: "far-chat", messages });
      await answer.text();
      if (answer.status !== 200) failed++;
    }
    // Half of the 30 if it is not; a trial after the first pause may cost one more.
    expect(failed).toBeLessThanOrEqual(mostLost);
  },
);
