import { describe, expect, spyOn, test } from "bun:test";
import { QdrantConnection } from "../../../../src/store/qdrant/connection.ts";
import type { CollectionShape } from "../../../../src/store/qdrant/points.ts";
import { QdrantCollectionStore } from "../../../../src/store/qdrant/qdrant-collections.ts";
import { QdrantPassages } from "../../../../src/store/qdrant/qdrant-passages.ts";
import { rejectionOf } from "../../../support/rejection.ts";

interface Stub extends AsyncDisposable {
  url: string;
  /** The headers of each request so far. */
  requests: Headers[];
}

/** Answers with one after another; the last answers all that come after. */
function serve(...answers: (() => Response | Promise<Response>)[]): Stub {
  const requests: Headers[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      // Copied: a request forgets them when it is answered.
      requests.push(new Headers(request.headers));
      return (answers[requests.length - 1] ?? answers.at(-1))?.() ?? new Response();
    },
  });
  return {
    url: server.url.href,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const result = () => Response.json({ result: { collections: [] } });
const failure =
  (status: number, error: string, headers = {}) =>
  () =>
    Response.json({ status: { error } }, { status, headers });
const listFrom = (connection: QdrantConnection) => connection.read((api) => api.collections());

describe("a connection to Qdrant", () => {
  test("sends the key, and asks for answers that are not compressed", async () => {
    await using stub = serve(result);
    await listFrom(new QdrantConnection({ url: stub.url, apiKey: "the-key" }));
    await listFrom(new QdrantConnection({ url: stub.url }));
    const [first, second] = stub.requests;
    expect(first?.get("api-key")).toBe("the-key");
    expect(first?.get("accept-encoding")).toBe("identity");
    expect(second?.has("api-key")).toBe(false);
  });

  test.each([
    ["503", failure(503, "Starting")],
    ["500", failure(500, "Shard is away")],
    ["408", failure(408, "Timeout")],
    ["429", failure(429, "Too many")],
    ["429 with a time", failure(429, "Too many", { "retry-after": "1" })],
  ])("asks again after %s, twice at most", async (_, refuse) => {
    await using recovering = serve(refuse, refuse, result);
    expect(await listFrom(new QdrantConnection(recovering))).toEqual({ collections: [] });
    await using failing = serve(refuse);
    expect(await rejectionOf(listFrom(new QdrantConnection(failing)))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("cannot answer now"),
    });
    expect(failing.requests).toHaveLength(3);
  });

  test.each([
    [400, "upstream_refused", "Wrong input", "refused a request (400: Wrong input)"],
    [401, "unavailable", "No", "refuses the API key"],
    [403, "unavailable", "No", "refuses the API key"],
    [404, "unavailable", "No collection", "does not have what was asked for (404: No collection)"],
  ])("asks once where the answer is %d", async (status, kind, reason, message) => {
    await using stub = serve(failure(status, reason));
    const connection = new QdrantConnection({ url: stub.url, apiKey: "the-key" });
    const refusal = await rejectionOf(listFrom(connection));
    expect(refusal).toMatchObject({ kind, message: expect.stringContaining(message) });
    expect(Bun.inspect(refusal)).not.toContain("the-key");
    expect(stub.requests).toHaveLength(1);
  });

  test.each([
    ["a page", () => new Response("<html>")],
    [
      "half an answer",
      () => new Response("{", { headers: { "content-type": "application/json" } }),
    ],
    ["a page that is not there", () => new Response("Not found", { status: 404 })],
  ])("says that %s is not an answer of Qdrant", async (_, answer) => {
    await using stub = serve(answer);
    expect(await rejectionOf(listFrom(new QdrantConnection(stub)))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("Check that the address is a Qdrant server's"),
    });
  });

  test("waits no longer than it may, also for the rest of an answer, and lets nobody wait again at once", async () => {
    const half = new TextEncoder().encode("{");
    const never = () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(half) }));
    await using stub = serve(never);
    let now = 0;
    using _ = spyOn(performance, "now").mockImplementation(() => now);
    const connection = new QdrantConnection({ url: stub.url, timeoutMs: 100 });
    const requestsAfterAsking = async (): Promise<number> => {
      expect(String(await rejectionOf(listFrom(connection)))).toContain(
        "did not answer within 0.1 s",
      );
      return stub.requests.length;
    };
    expect(await requestsAfterAsking()).toBe(1);
    now = 99;
    expect(await requestsAfterAsking()).toBe(1);
    now = 100;
    expect(await requestsAfterAsking()).toBe(2);
  });

  test("gives a change six times as long as a question", async () => {
    await using stub = serve(() => new Promise<Response>(() => {}));
    const connection = new QdrantConnection({ url: stub.url, timeoutMs: 100 });
    const givenUp: string[] = [];
    const giveUp = async (call: Promise<unknown>) => {
      givenUp.push(/within .* s/.exec(String(await rejectionOf(call)))?.[0] ?? "");
    };
    await Promise.all([
      giveUp(connection.change((api) => api.collections())),
      giveUp(listFrom(connection)),
    ]);
    expect(givenUp).toEqual(["within 0.1 s", "within 0.6 s"]);
  });

  test("says that a server does not speak TLS", async () => {
    await using stub = serve(result);
    const url = stub.url.replace("http:", "https:");
    expect(await rejectionOf(listFrom(new QdrantConnection({ url })))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("TLS"),
    });
  });

  test("refuses a key that a header cannot carry, without showing it", () => {
    const connect = () => new QdrantConnection({ url: "http://host", apiKey: "sec\nret" });
    expect(connect).toThrow("API key");
    expect(connect).not.toThrow("ret");
  });
});

describe("a server that answers more than it is asked for", () => {
  const shape: CollectionShape = {
    dimension: 2,
    distance: "cosine",
    dense: "",
    hasWords: true,
    hasCurrentWords: true,
    hasDocumentIndex: true,
    embedding: undefined,
  };
  const points = [1, 2, 3].map((id) => ({ id, version: 1, score: 0.5, payload: { source: "A" } }));
  const collectionAt = ({ url }: Stub) =>
    new QdrantPassages(new QdrantConnection({ url }), { name: "notes", shape });

  test("is not read on and on where a page leads to itself", async () => {
    const page = { points: [{ id: 1, payload: { document: "a" } }], next_page_offset: 7 };
    let asked = 0;
    await using stub = serve(() => {
      // So that a reader that goes on ends all the same.
      const next_page_offset = ++asked > 50 ? null : page.next_page_offset;
      return Response.json({ result: { ...page, next_page_offset } });
    });
    expect(await rejectionOf(collectionAt(stub).documents())).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("comes to no end"),
    });
    expect(stub.requests).toHaveLength(2);
  });

  test("is not read on and on where pages lead to each other, or are empty", async () => {
    const points = [{ id: 1, payload: { document: "a" } }];
    const pages = [
      { of: (asked: number) => ({ points, next_page_offset: asked % 2 }), most: 2 },
      { of: (asked: number) => ({ points: [], next_page_offset: asked }), most: 1 },
    ];
    for (const { of, most } of pages) {
      let asked = 0;
      await using stub = serve(() => {
        // So that a reader that goes on ends all the same.
        const result = ++asked > 50 ? { points } : of(asked);
        return Response.json({ result });
      });
      expect(await rejectionOf(collectionAt(stub).documents())).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("comes to no end"),
      });
      expect(stub.requests).toHaveLength(most);
    }
  });

  test("gives no more passages than were asked for", async () => {
    await using stub = serve(() => Response.json({ result: { points } }));
    const found = await collectionAt(stub).search(Float32Array.of(1, 0), {
      limit: 2,
      scoreThreshold: -1,
    });
    expect(found).toHaveLength(2);
  });

  test.each([
    ["no score", undefined],
    ["a text as their score", "0.5"],
  ])("or points with %s is unavailable, and not a search without results", async (_, score) => {
    const found = { points: points.map((point) => ({ ...point, score })) };
    await using dense = serve(() => Response.json({ result: found }));
    await using words = serve(() => Response.json({ result: [found, found] }));
    const vector = Float32Array.of(1, 0);
    const searching = collectionAt(dense).search(vector, { limit: 2, scoreThreshold: -1 });
    const matching = collectionAt(words).matchWords("llamas", vector, 2);
    for (const asked of [searching, matching]) {
      expect(await rejectionOf(asked)).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("gave an answer that cannot be read"),
      });
    }
  });

  test.each([
    ["a text", "x"],
    ["a number", 5],
    ["an empty list", []],
    ["nothing in it", {}],
    ["points that are none", { points: [null, 5] }],
  ])("or something else is unavailable: %s", async (_, answer) => {
    await using stub = serve(() => Response.json({ result: answer }));
    const unavailable = {
      kind: "unavailable",
      message: expect.stringContaining("gave an answer that cannot be read"),
    };
    const vector = Float32Array.of(1, 0);
    const searching = collectionAt(stub).search(vector, { limit: 2, scoreThreshold: -1 });
    expect(await rejectionOf(searching)).toMatchObject(unavailable);
    expect(await rejectionOf(collectionAt(stub).documents())).toMatchObject(unavailable);
    expect(await rejectionOf(collectionAt(stub).count())).toMatchObject(unavailable);
    expect(await rejectionOf(collectionAt(stub).delete("a", new Set()))).toMatchObject(unavailable);
    const page = collectionAt(stub).page("a", { from: 0, limit: 2 });
    expect(await rejectionOf(page)).toMatchObject(unavailable);
    const store = new QdrantCollectionStore({ url: stub.url });
    expect(await rejectionOf(store.list())).toMatchObject(unavailable);
    expect(await rejectionOf(store.open("notes"))).toMatchObject(unavailable);
  });
});
