import { describe, expect, test } from "bun:test";
import type { FileRecord } from "../../src/core/documents/records.ts";
import { NodeError } from "../../src/core/errors.ts";
import type { Page } from "../../src/core/page.ts";
import type { EmbedOptions } from "../../src/core/ports/embedding-engine.ts";
import { aborted, untilAborted } from "../support/aborted.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, type TestAppOptions, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const messages = [{ role: "user", content: "one two three" }];
const chat = { model: "chatty", messages };
const embed = { model: "vectors", input: ["a b", "c"] };

/** An app whose minute does not pass by itself. */
function stillApp(options: TestAppOptions): TestApp & { clock: { now: number } } {
  const clock = { now: 0 };
  return { ...testApp({ ...options, now: () => clock.now }), clock };
}

const standing = ({ headers }: Response, what: string): (string | null)[] =>
  ["limit", "remaining", "reset"].map((part) => headers.get(`x-ratelimit-${part}-${what}`));

async function failure(response: Response): Promise<unknown> {
  expect(response.status).toBe(429);
  return ((await response.json()) as { error: unknown }).error;
}

function request(body: object, signal?: AbortSignal, path = "/v1/chat/completions"): Request {
  return new Request(`http://localhost${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

describe("requests a minute", () => {
  test("beyond the limit are a 429 that says which, how much and when", async () => {
    const app = stillApp({ callerLimits: { requestsPerMinute: 2 } });
    const first = await app.post("/v1/embeddings", embed);
    expect([first.status, ...standing(first, "requests")]).toEqual([200, "2", "1", "30s"]);
    expect(standing(first, "tokens")).toEqual([null, null, null]);
    const wrong = await app.post("/v1/chat/completions", "{");
    expect([wrong.status, ...standing(wrong, "requests")]).toEqual([400, "2", "0", "1m0s"]);
    const refused = await app.post("/v1/retrieve", { model: "vectors", messages });
    expect([refused.headers.get("retry-after"), ...standing(refused, "requests")]).toEqual([
      "30",
      "2",
      "0",
      "1m0s",
    ]);
    expect(await failure(refused)).toEqual({
      message:
        "Rate limit reached. A caller without a key may make 2 requests a minute. Try again in 30 s.",
      type: "requests",
      param: null,
      code: "rate_limit_exceeded",
    });
    app.clock.now += 30_000;
    expect((await app.post("/v1/embeddings", embed)).status).toBe(200);
  });

  test("are each key's own, and open addresses have none", async () => {
    const keys = ["first-good-key", "second-good-key"];
    const app = stillApp({ keys, callerLimits: { requestsPerMinute: 1 } });
    const ask = async (key: string) =>
      (await app.post("/v1/embeddings", embed, { authorization: `Bearer ${key}` })).status;
    const [first = "", second = ""] = keys;
    expect([await ask(first), await ask(first), await ask(second)]).toEqual([200, 429, 200]);
    expect([await ask("wrong-good-key"), await ask("wrong-good-key")]).toEqual([401, 401]);
    for (const path of ["/v1/models", "/v1/info", "/health"]) {
      expect((await app.get(path)).status).toBe(200);
    }
  });

  test("without keys are each address's own, where the server tells it", async () => {
    const app = stillApp({ callerLimits: { requestsPerMinute: 1 } });
    const ask = async (address: string) => {
      const asked = request(chat);
      app.connections.opened(asked, { address, onIdle: () => {} });
      app.chat.script(finish);
      return (await app.handle(asked)).status;
    };
    expect([await ask("192.0.2.1"), await ask("192.0.2.1"), await ask("192.0.2.2")]).toEqual([
      200, 429, 200,
    ]);
  });
});

describe("tokens a minute", () => {
  const limits = { callerLimits: { tokensPerMinute: 60 } };

  test("are what each answer really used", async () => {
    const app = stillApp(limits);
    const left = (response: Response) => standing(response, "tokens")[1];
    expect(left(await app.post("/v1/embeddings", embed))).toBe("57");
    expect(left(await app.post("/v1/retrieve", { model: "vectors", messages }))).toBe("54");
    app.chat.script({ type: "text", text: "Hi" }, finish);
    expect(left(await app.post("/v1/chat/completions", chat))).toBe("49");
    app.chat.script(finish).script(finish);
    expect(left(await app.post("/v1/chat/completions", { ...chat, n: 2 }))).toBe("42");
  });

  test("of several prompts are those of each, once for all its answers", async () => {
    const app = stillApp(limits);
    for (let answer = 0; answer < 6; answer++) app.chat.script({ type: "text", text: "a" }, finish);
    const sent = { model: "chatty", prompt: ["a", "b", "c"], n: 2 };
    const response = await app.post("/v1/completions", sent);
    expect(await response.json()).toMatchObject({ usage: { total_tokens: 3 * 3 + 6 * 2 } });
    expect(standing(response, "tokens")[1]).toBe(String(60 - 3 * 3 - 6 * 2));
  });

  test("are those of a prompt that is only given back", async () => {
    const app = stillApp(limits);
    const usage = { ...finish.usage, completionTokens: 0 };
    app.chat.script({ type: "text", text: "a", echoed: true }, { ...finish, usage });
    const sent = { model: "chatty", prompt: "a", echo: true, max_tokens: 0 };
    expect(standing(await app.post("/v1/completions", sent), "tokens")[1]).toBe("57");
  });

  test("of a stream are counted when it ends, whatever the limit, and refuse the next", async () => {
    const app = stillApp({ callerLimits: { tokensPerMinute: 4 } });
    app.chat.script({ type: "text", text: "Hi" }, finish);
    const stream = await app.post("/v1/chat/completions", { ...chat, stream: true });
    expect(standing(stream, "tokens")).toEqual(["4", "4", "0ms"]);
    expect(await stream.text()).toContain("[DONE]");
    const refused = await app.post("/v1/chat/completions", chat);
    expect(standing(refused, "tokens")).toEqual(["4", "0", "1m15s"]);
    expect(await failure(refused)).toMatchObject({ type: "tokens", code: "rate_limit_exceeded" });
    expect(app.chat.requests).toHaveLength(1);
  });

  test("of a stream that its client left are the prompt's and those that came", async () => {
    const app = stillApp(limits);
    app.chat.script(
      { type: "text", text: "a" },
      { type: "text", text: "b" },
      { type: "text", text: "c" },
      finish,
    );
    const stream = await app.post("/v1/chat/completions", { ...chat, stream: true });
    const reader = stream.body?.getReader();
    // The role, then two texts.
    for (let chunk = 0; chunk < 3; chunk++) await reader?.read();
    await reader?.cancel();
    const next = await app.post("/v1/embeddings", { model: "vectors", input: "a" });
    // Nothing was made that the reader had not asked for.
    expect(standing(next, "tokens")[1]).toBe(String(60 - 3 - 2 - 1));
  });

  test("are charged for a prompt whose caller leaves before the first token", async () => {
    const app = stillApp(limits);
    const leave = new AbortController();
    app.chat.script(async () => {
      leave.abort();
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    }, finish);
    const request = new Request("http://localhost/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(chat),
      signal: leave.signal,
    });
    await app.handle(request);
    app.chat.script({ type: "text", text: "a" }, finish);
    const words = chat.messages[0]?.content.split(" ").length ?? 0;
    const next = await app.post("/v1/chat/completions", chat);
    expect(standing(next, "tokens")[1]).toBe(String(60 - words - 5));
  });

  test("are charged for texts and passages whose caller leaves while they are read", async () => {
    const app = stillApp({ ...limits, reranks: true });
    let leave = new AbortController();
    const read = async ({ signal, onStart }: Partial<EmbedOptions> = {}): Promise<never> => {
      onStart?.(7);
      leave.abort();
      return await untilAborted(signal);
    };
    const { embed } = app.embedding;
    app.embedding.embed = (_, options) => read(options);
    app.reranker.rank = (_, __, options) => read(options);
    await app.handle(request({ model: "vectors", input: "a" }, leave.signal, "/v1/embeddings"));
    leave = new AbortController();
    const ranking = { model: "judge", query: "a", documents: ["b"] };
    await app.handle(request(ranking, leave.signal, "/v1/rerank"));
    app.embedding.embed = embed;
    const next = await app.post("/v1/embeddings", { model: "vectors", input: "a" });
    expect(standing(next, "tokens")[1]).toBe(String(60 - 7 - 7 - 1));
  });

  test("are charged without another count where a stream breaks off", async () => {
    const app = stillApp(limits);
    app.chat.script({ type: "text", text: "a" }, new NodeError("unavailable", "It fell over."));
    // The model that broke is the one that would have to count.
    app.chat.countTokens = () => new Promise(() => {});
    const broken = await app.post("/v1/chat/completions", { ...chat, stream: true });
    expect(await broken.text()).toContain("It fell over.");
    const next = await app.post("/v1/embeddings", { model: "vectors", input: "a" });
    expect(standing(next, "tokens")[1]).toBe(String(60 - 3 - 1 - 1));
  });

  test("are not charged for an answer that never began", async () => {
    const app = stillApp(limits);
    app.chat.script(new Error("the engine broke"));
    const failed = await app.post("/v1/chat/completions", chat);
    expect([failed.status, standing(failed, "tokens")[1]]).toEqual([500, "60"]);
  });
});

describe("a place among requests at once", () => {
  const one = { callerLimits: { concurrency: 1 } };
  const ask = (app: TestApp) => app.post("/v1/embeddings", { model: "vectors", input: "a" });

  test("is taken while an answer comes, and refused to others", async () => {
    const app = testApp(one);
    const { promise, resolve } = Promise.withResolvers<void>();
    app.chat.script({ type: "text", text: "a" }, () => promise, finish);
    const stream = await app.post("/v1/chat/completions", { ...chat, stream: true });
    const refused = await ask(app);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await failure(refused)).toMatchObject({
      type: "requests",
      message: expect.stringContaining("may have 1 requests in progress at once"),
    });
    resolve();
    await stream.text();
    expect((await ask(app)).status).toBe(200);
  });

  test("is taken until a large answer is read, and given back when its reader leaves", async () => {
    const app = testApp(one);
    const input = Array.from({ length: 2000 }, (_, at) => `text ${at}`);
    const large = () => app.post("/v1/embeddings", { model: "vectors", input });
    const unread = await large();
    expect(unread.status).toBe(200);
    await failure(await ask(app));
    const { data } = (await unread.json()) as { data: { index: number }[] };
    expect(data.map(({ index }) => index)).toEqual(input.map((_, at) => at));
    await waitFor("the place", async () => (await ask(app)).status === 200);
    const left = await large();
    expect(left.headers.get("content-type")).toContain("application/json");
    await left.body?.cancel();
    await waitFor("the place", async () => (await ask(app)).status === 200);
  });

  test("is taken for each of several answers, and given back with them", async () => {
    const app = testApp({ callerLimits: { concurrency: 4 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    for (let choice = 0; choice < 3; choice++) {
      app.chat.script({ type: "text", text: "a" }, () => promise, finish);
    }
    const stream = await app.post("/v1/chat/completions", { ...chat, stream: true, n: 3 });
    expect((await ask(app)).status).toBe(200);
    const two = await app.post("/v1/chat/completions", { ...chat, n: 2 });
    expect(await failure(two)).toMatchObject({
      type: "requests",
      message: expect.stringContaining(
        "may have 4 answers in progress at once; with the 2 of this request there would be 5.",
      ),
    });
    resolve();
    await stream.text();
    for (let choice = 0; choice < 4; choice++) app.chat.script(finish);
    expect((await app.post("/v1/chat/completions", { ...chat, n: 4 })).status).toBe(200);
  });

  test("is refused for more answers than a caller may ever have", async () => {
    const app = testApp({ callerLimits: { concurrency: 4 } });
    const response = await app.post("/v1/chat/completions", { ...chat, n: 8 });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        param: "n",
        message: expect.stringContaining(
          "asks for 8 answers at a time ('n', 'best_of' or several prompts);",
        ),
      },
    });
    expect((await ask(app)).status).toBe(200);
  });

  test("is not needed to ask for a response that holds it, or to end it", async () => {
    const app = stillApp({ callerLimits: { concurrency: 1, requestsPerMinute: 6 } });
    app.chat.script(untilAborted);
    const asked = { model: "chatty", input: "Hello", background: true };
    const path = "/v1/responses";
    const { id } = Object(await (await app.post(path, asked)).json());
    expect(await failure(await app.post(path, asked))).toMatchObject({
      message: expect.stringContaining("may have 1 requests in progress at once"),
    });
    const found = await app.get(`${path}/${id}`);
    expect([found.status, standing(found, "requests")[1]]).toEqual([200, "4"]);
    expect((await app.get(`${path}/${id}/input_items`)).status).toBe(200);
    expect((await app.post(`${path}/${id}/cancel`, "")).status).toBe(200);
    const remove = () =>
      app.handle(new Request(`http://localhost${path}/${id}`, { method: "DELETE" }));
    expect((await remove()).status).toBe(200);
    await waitFor("its place", async () => (await ask(app)).status !== 429);
    // They are requests all the same.
    expect(await failure(await remove())).toMatchObject({
      message: expect.stringContaining("may make 6 requests a minute"),
    });
  });

  test("is given back when the time of a stream is up that nobody reads any more", async () => {
    const app = testApp({ ...one, requestTimeoutMs: 500 });
    // Not at its end by then: of one that is, the client has the rest in its own time.
    app.chat.script({ type: "text", text: "a" }, aborted);
    const asked = request({ ...chat, stream: true });
    let idle = 0;
    app.connections.opened(asked, { onIdle: () => void idle++ });
    await app.handle(asked);
    await waitFor("an idle connection", () => idle === 1);
    // It may be late itself on a busy machine, and has a place all the same.
    expect([200, 504]).toContain((await ask(app)).status);
  });

  test("is kept while the model is at what a client asked for that left", async () => {
    const app = testApp(one);
    const { promise: isCounted, resolve } = Promise.withResolvers<void>();
    let counts = 0;
    app.embedding.countTokens = async () => {
      counts++;
      await isCounted;
      return [1];
    };
    const client = new AbortController();
    const embedding = { model: "vectors", input: "a" };
    const asked = app.handle(request(embedding, client.signal, "/v1/embeddings"));
    await waitFor("the count", () => counts === 1);
    client.abort();
    expect((await ask(app)).status).toBe(429);
    expect(counts).toBe(1);
    resolve();
    await asked;
    expect((await ask(app)).status).toBe(200);
  });

  test.each<[string, (app: TestApp) => Promise<unknown>]>([
    [
      "a plain answer",
      (app) => {
        app.chat.script(finish);
        return app.post("/v1/chat/completions", chat);
      },
    ],
    ["a wrong body", (app) => app.post("/v1/chat/completions", "{")],
    [
      "a model that is not there",
      (app) => app.post("/v1/chat/completions", { ...chat, model: "x" }),
    ],
    ["a wrong body of embeddings", (app) => app.post("/v1/embeddings", "{")],
    ["a wrong body of retrieval", (app) => app.post("/v1/retrieve", "{")],
    [
      "an engine that fails",
      (app) => {
        app.chat.script(new Error("broken"));
        return app.post("/v1/chat/completions", chat);
      },
    ],
    [
      "a stream that fails before it began",
      (app) => {
        app.chat.script(new Error("broken"));
        return app.post("/v1/chat/completions", { ...chat, stream: true });
      },
    ],
    [
      "a stream that breaks off",
      async (app) => {
        app.chat.script({ type: "text", text: "a" }, new Error("broken"));
        await (await app.post("/v1/chat/completions", { ...chat, stream: true })).text();
      },
    ],
    [
      "a stream that its client left",
      async (app) => {
        app.chat.script({ type: "text", text: "a" }, { type: "text", text: "b" }, finish);
        const stream = await app.post("/v1/chat/completions", { ...chat, stream: true });
        await stream.body?.cancel();
      },
    ],
    [
      "a client that left after the answer began, and whose stream nobody reads",
      async (app) => {
        const client = new AbortController();
        app.chat.script({ type: "text", text: "a" }, { type: "text", text: "b" }, finish);
        const asked = request({ ...chat, stream: true }, client.signal);
        let idle = 0;
        app.connections.opened(asked, { onIdle: () => void idle++ });
        await app.handle(asked);
        client.abort();
        await waitFor("an idle connection", () => idle === 1);
      },
    ],
    [
      "a client that left before the answer began",
      async (app) => {
        const client = new AbortController();
        const { promise, resolve } = Promise.withResolvers<void>();
        app.chat.script(() => promise, finish);
        const asked = app.handle(request({ ...chat, stream: true }, client.signal));
        await waitFor("the generation", () => app.chat.requests.length === 1);
        client.abort();
        resolve();
        await asked;
      },
    ],
  ])("is given back, once, after %s", async (_, end) => {
    const app = testApp(one);
    await end(app);
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = holdPlace(app, promise);
    await held.begun;
    expect((await ask(app)).status).toBe(429);
    resolve();
    await held.done;
    expect((await ask(app)).status).toBe(200);
  });
});

/** A request that holds a place until the promise is kept. */
function holdPlace(
  app: TestApp,
  until: Promise<void>,
): { begun: Promise<void>; done: Promise<unknown> } {
  const begun = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      begun.resolve();
      await until;
      controller.enqueue(new TextEncoder().encode("{}"));
      controller.close();
    },
  });
  const done = app.handle(
    new Request("http://localhost/v1/embeddings", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    }),
  );
  return { begun: begun.promise, done };
}

describe("requests in progress from one address", () => {
  const from = (app: TestApp, address: string, body: object) => {
    const asked = request(body);
    app.connections.opened(asked, { address, onIdle: () => {} });
    return app.handle(asked);
  };

  test.each([
    ["192.0.2.1", 429],
    ["127.0.0.1", 200],
    ["::1", 200],
  ])("are bounded, but for a proxy on this machine: %s is answered %i", async (address, status) => {
    const app = testApp({ connectionsPerClient: 1 });
    const { promise, resolve } = Promise.withResolvers<void>();
    app.chat
      .script({ type: "text", text: "a" }, () => promise, finish)
      .script(finish)
      .script(finish);
    const stream = await from(app, address, { ...chat, stream: true });
    expect((await from(app, address, chat)).status).toBe(status);
    expect((await from(app, "192.0.2.2", chat)).status).toBe(200);
    resolve();
    await stream.text();
    app.chat.script(finish);
    expect((await from(app, address, chat)).status).toBe(200);
  });

  test("end with the answer, which is when the connection is idle", async () => {
    const app = testApp();
    const { promise, resolve } = Promise.withResolvers<void>();
    app.chat.script({ type: "text", text: "a" }, () => promise, finish);
    let idle = 0;
    const asked = request({ ...chat, stream: true });
    app.connections.opened(asked, { onIdle: () => void idle++ });
    const stream = await app.handle(asked);
    expect(idle).toBe(0);
    resolve();
    await stream.text();
    expect(idle).toBe(1);
  });
});

describe("lists, each of which may be megabytes", () => {
  const page = async (count: number): Promise<Page<FileRecord>> => {
    const file = { id: "file-a", filename: "a".repeat(200), bytes: 1, sha256: "", purpose: "" };
    const item = { ...file, type: "text/plain", createdAt: new Date(0) };
    return { items: Array.from({ length: count }, () => item), hasMore: false };
  };

  test("that nobody reads take no more memory than large bodies may", async () => {
    const app = testApp({ maxBodyBytes: 100_000 });
    app.registry.files = () => page(1000);
    const answers: Response[] = [];
    for (let at = 0; at < 10; at++) answers.push(await app.get("/v1/files"));
    const served = answers.filter(({ status }) => status === 200);
    expect(served.length).toBeWithin(1, 9);
    expect(answers.at(-1)?.status).toBe(503);
    for (const answer of served) await answer.text();
    expect((await app.get("/v1/files")).status).toBe(200);
  });
});
