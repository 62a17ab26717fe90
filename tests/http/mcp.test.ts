import { describe, expect, test } from "bun:test";
import { untilAborted } from "../support/aborted.ts";
import { decodeError } from "../support/decode.ts";
import { passage } from "../support/passages.ts";
import { runningDocuments } from "../support/running-documents.ts";
import { testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const pong = { jsonrpc: "2.0", id: 1, result: {} };
const searching = (wanted: object) => ({
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "search_documents", arguments: wanted },
});

describe("/mcp", () => {
  test("answers each message for itself, as JSON, whatever came before", async () => {
    const app = testApp();
    const response = await app.post("/mcp", ping);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      expect.stringContaining("application/json"),
    ]);
    expect(response.headers.has("mcp-session-id")).toBe(false);
    expect(await response.json()).toEqual(pong);
    const told = await app.post("/mcp", { jsonrpc: "2.0", method: "notifications/initialized" });
    expect([told.status, await told.text()]).toEqual([202, ""]);
  });

  test("opens no stream, and ends no session", async () => {
    const app = testApp();
    for (const method of ["GET", "DELETE"]) {
      const response = await app.handle(new Request("http://localhost/mcp", { method }));
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("takes a few messages at once, and answers what is asked in them", async () => {
    const app = testApp();
    const cancel = {
      ...{ jsonrpc: "2.0", method: "notifications/cancelled" },
      params: { requestId: 1 },
    };
    const response = await app.post("/mcp", [ping, cancel, { ...ping, id: "b" }]);
    expect(await response.json()).toEqual([pong, { ...pong, id: "b" }]);
    const many = await app.post("/mcp", Array(9).fill(ping));
    expect(many.status).toBe(400);
    expect((await decodeError(many)).message).toContain("a list from 1 to 8; found a list of 9");
    expect((await app.post("/mcp", [])).status).toBe(400);
  });

  test("counts each of them that asks something as a request", async () => {
    const app = testApp({ callerLimits: { requestsPerMinute: 6 } });
    const told = { jsonrpc: "2.0", method: "notifications/initialized" };
    const few = await app.post("/mcp", [ping, told, { ...ping, id: 2 }, { ...ping, id: 3 }]);
    expect([few.status, few.headers.get("x-ratelimit-remaining-requests")]).toEqual([200, "3"]);
    const many = await app.post("/mcp", Array(8).fill(ping));
    expect([many.status, many.headers.get("retry-after")]).toEqual([429, "10"]);
    expect((await decodeError(many)).message).toContain("6 requests a minute");
  });

  test("answers them one after the other, in the one place that they have", async () => {
    const app = testApp({ keys: ["a-key"], callerLimits: { concurrency: 1 } });
    let [running, most] = [0, 0];
    app.repository.search = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return [];
    };
    const batch = Array.from({ length: 8 }, (_, id) => ({ ...searching({ query: "a" }), id }));
    const answer = await app.post("/mcp", batch, { authorization: "Bearer a-key" });
    expect([answer.status, await answer.json()]).toMatchObject([200, { length: 8 }]);
    expect(most).toBe(1);
  });

  test("holds up none of its caller's other requests about documents while searches wait", async () => {
    await using running = await runningDocuments({ keys: ["a-key"] });
    const { app } = running;
    const key = { authorization: "Bearer a-key" };
    const model = Promise.withResolvers<void>();
    let begun = 0;
    app.repository.search = async () => {
      begun++;
      await model.promise;
      return [];
    };
    const searches = Array.from({ length: 9 }, () =>
      app.post("/mcp", searching({ query: "a" }), key),
    );
    await waitFor("the searches to begin", () => begun === 8);
    expect((await app.get("/v1/files", key)).status).toBe(200);
    model.resolve();
    const answers = await Promise.all(searches);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  test("refuses what is no message, by name", async () => {
    const app = testApp();
    const refusals = [
      [{ ...ping, jsonrpc: "1.0" }, "jsonrpc"],
      [{ ...ping, id: 1.5 }, "id"],
      [{ ...ping, method: "x".repeat(300) }, "method"],
      [{ ...ping, params: [1] }, "params"],
      [[ping, 1], "[1]"],
    ] as const;
    for (const [message, param] of refusals) {
      const response = await app.post("/mcp", message);
      expect([response.status, (await decodeError(response)).message]).toEqual([
        400,
        expect.stringContaining(param),
      ]);
    }
    const unknown = await app.post("/mcp", { ...ping, method: "tools/destroy" });
    expect(await unknown.json()).toMatchObject({ error: { code: -32601 } });
  });

  test("takes the largest filters, and refuses messages of more parts than that", async () => {
    const app = testApp();
    const many = (count: number) => ({
      type: "or",
      filters: Array.from({ length: 63 }, () => ({
        ...{ type: "in", key: "a" },
        value: Array.from({ length: count }, (_, at) => at),
      })),
    });
    const largest = await app.post("/mcp", searching({ query: "a", filters: many(256) }));
    expect(await largest.json()).toMatchObject({
      result: { structuredContent: { passages: [] } },
    });
    const larger = await app.post("/mcp", searching({ query: "a", filters: many(400) }));
    expect((await decodeError(larger)).message).toContain("more than the 20000 values");
    const _meta = Object.fromEntries(Array.from({ length: 2001 }, (_, at) => [`field${at}`, at]));
    const fields = await app.post("/mcp", { ...ping, params: { _meta } });
    expect((await decodeError(fields)).message).toContain("2000 fields");
  });

  test("refuses a version of the protocol that it does not speak", async () => {
    const app = testApp();
    const answer = await app.post("/mcp", ping, { "mcp-protocol-version": "1999-01-01" });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining("1999-01-01"),
    ]);
    const stream = await app.post("/mcp", ping, { accept: "text/event-stream" });
    expect(stream.status).toBe(406);
  });

  test("hears pages of its own origin and of those that are allowed, and no others", async () => {
    const app = testApp({ corsOrigins: ["https://app.example.org"] });
    const from = async (origin: string): Promise<number> =>
      (await app.post("/mcp", ping, { origin, host: "localhost" })).status;
    expect(await from("https://app.example.org")).toBe(200);
    expect(await from("http://localhost")).toBe(200);
    expect(await from("https://evil.example.org")).toBe(403);
    expect(await from("null")).toBe(403);
  });

  test("answers to this machine's names only, on loopback", async () => {
    const app = testApp({ allowedHosts: [] });
    const answer = await app.post("/mcp", ping, { host: "evil.example.org" });
    expect(answer.status).toBe(403);
  });

  test("finds nothing while nothing is ready, and says so", async () => {
    const app = testApp({ unprepared: true });
    const answer = await app.post("/mcp", searching({ query: "llamas" }));
    expect(await answer.json()).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringMatching(/not ready|prepared/) }] },
    });
  });

  test("tells nothing of the inside when it fails, and the log does", async () => {
    const app = testApp();
    app.repository.search = async () => {
      throw new Error("a secret of the inside");
    };
    const answer = await app.post("/mcp", searching({ query: "llamas" }));
    const text = await answer.text();
    expect(text).toContain("The node failed to answer");
    expect(text).not.toContain("secret");
    expect(JSON.stringify(app.log)).toContain("a request over MCP failed");
  });

  test("charges its caller for what was embedded", async () => {
    await using running = await runningDocuments({
      keys: ["a-key"],
      callerLimits: { tokensPerMinute: 1 },
    });
    const { app } = running;
    await app.repository.upsert([passage(1, [1, 0], { source: "llamas hum" })]);
    const headers = { authorization: "Bearer a-key" };
    const answer = await app.post("/mcp", searching({ query: "llamas hum" }), headers);
    expect([answer.status, (await answer.text()).includes("llamas hum")]).toEqual([200, true]);
    expect((await app.post("/mcp", searching({ query: "a" }), headers)).status).toBe(429);
  });

  test("charges its caller for what is embedded when it leaves, once the model has ended", async () => {
    const app = testApp({ callerLimits: { tokensPerMinute: 60 }, now: () => 0 });
    const leave = new AbortController();
    const { embed } = app.embedding;
    app.embedding.embed = async (_, { signal, onStart } = {}) => {
      onStart?.(7);
      leave.abort();
      await new Promise((resolve) => setTimeout(resolve, 5));
      return await untilAborted(signal);
    };
    await app.handle(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify(searching({ query: "llamas" })),
        signal: leave.signal,
      }),
    );
    // It left: nothing of the node has failed.
    expect(app.log.filter(({ level }) => level === "error")).toEqual([]);
    app.embedding.embed = embed;
    const next = await app.post("/v1/embeddings", { model: "vectors", input: "a" });
    expect(next.headers.get("x-ratelimit-remaining-tokens")).toBe(String(60 - 7 - 1));
  });

  test("promises no more of what tools answer than holds: limits are those of requests", async () => {
    const app = testApp();
    const listed = await app.post("/mcp", { ...ping, method: "tools/list" });
    const { tools } = Object(await listed.json()).result;
    const answers = JSON.stringify(
      tools.map(({ outputSchema }: { outputSchema: object }) => outputSchema),
    );
    expect(answers).toContain('"attributes"');
    expect(answers).not.toMatch(/maxProperties|maxLength/);
  });

  test("lists resources page by page, over collections that hold many documents or none", async () => {
    await using running = await runningDocuments();
    const { app, client } = running;
    for (let made = 0; made < 25; made++) await client.store({ name: `empty ${made}` });
    const documents = Array.from({ length: 130 }, (_, at) => `${at}.md`);
    await app.repository.upsert(
      documents.map((document, at) => passage(at, [1, 0], { document, position: 0 })),
    );
    const names: string[] = [];
    const lengths: number[] = [];
    let cursor: string | undefined;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await app.post("/mcp", { ...ping, method: "resources/list", params });
      const { result } = Object(await answer.json());
      lengths.push(result.resources.length);
      names.push(...result.resources.map(({ name }: { name: string }) => name));
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    expect(lengths).toEqual([0, 100, 30]);
    expect(names.toSorted()).toEqual(documents.toSorted());
  });

  test("reads a long document in parts that say where it goes on", async () => {
    await using running = await runningDocuments();
    const { app } = running;
    const long = Array.from({ length: 250 }, (_, at) =>
      passage(at, [1, 0], { document: "long.md", parts: 250 }),
    );
    const huge = passage(300, [0, 1], {
      ...{ document: "huge.md", position: 0, source: "x".repeat(300_000) },
    });
    await app.repository.upsert([...long, huge]);
    const read = async (uri: string) => {
      const asked = { ...ping, method: "resources/read", params: { uri } };
      return Object(await (await app.post("/mcp", asked)).json()).result;
    };
    const listed = await app.post("/mcp", { ...ping, method: "resources/list" });
    const { resources } = Object(await listed.json()).result;
    const uriOf = (name: string): string =>
      resources.find((each: { name: string }) => each.name === name)?.uri;
    const first = await read(uriOf("long.md"));
    const next = `${uriOf("long.md")}?from=200`;
    expect(first._meta).toEqual({ "paddock/next": next });
    expect(first.contents[0].text).toStartWith("Passage 0\n\nPassage 1\n");
    expect(first.contents[0].text).toEndWith(`Passage 199\n\n[The document goes on at ${next}]`);
    const rest = await read(next);
    expect([rest._meta, rest.contents[0].text.split("\n\n").length]).toEqual([undefined, 50]);
    expect((await read(uriOf("huge.md"))).contents[0].text.length).toBeLessThan(201_000);
  });
});
