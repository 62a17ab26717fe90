/** A Qdrant server that means harm, or something else at its address. */
import { describe, expect, test } from "bun:test";
import { QdrantCollectionStore } from "../../../../src/store/qdrant/qdrant-collections.ts";
import { collect } from "../../../support/collect.ts";
import { watchLoop } from "../../../support/loop-watch.ts";
import { passage } from "../../../support/passages.ts";
import { rejectionOf } from "../../../support/rejection.ts";

const east = passage(1, [1, 0, 0]);
const everything = { limit: 64, scoreThreshold: -1 };

interface Hostile extends AsyncDisposable {
  url: string;
  store: QdrantCollectionStore;
  /** `GET /collections/notes` and the like, in the order in which they came. */
  asked: string[];
}

type Answer = (path: string, body: string) => Response | Promise<Response>;

/** Describes a sound collection, and answers everything else as it is told. */
function hostile(answer: Answer, config: object = sound): Hostile {
  const asked: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(`${request.method} ${pathname}`);
      const isDescription = request.method === "GET" && pathname === "/collections/notes";
      if (isDescription) return Response.json({ result: { config, payload_schema: {} } });
      return await answer(pathname, await request.text());
    },
  });
  const url = server.url.href;
  return {
    url,
    store: new QdrantCollectionStore({ url }),
    asked,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const sound = { params: { vectors: { size: 3, distance: "Cosine" } } };

const notesOf = async ({ store }: Hostile) => {
  const repository = await store.open("notes");
  if (repository === undefined) throw new Error("the server describes it");
  return repository;
};

const pointsOf = (points: readonly object[], more: object = {}) =>
  Response.json({ result: { points, ...more } });

const tooLarge = {
  kind: "unavailable",
  message: expect.stringContaining("gave an answer that is larger than what was asked for"),
};

/** Texts that go on for as long as somebody reads. */
function endless(): Response {
  const piece = new TextEncoder().encode(`"${"x".repeat(1 << 16)}",`);
  return new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"result":[')),
      async pull(controller) {
        controller.enqueue(piece);
        await Bun.sleep(0);
      },
    }),
  );
}

describe("answers of a Qdrant server", () => {
  test("are read no further than what was asked for can take", async () => {
    await using server = hostile(endless);
    await using notes = await notesOf(server);
    const calls = [
      () => notes.count(),
      () => notes.search(east.vector, { limit: 2, scoreThreshold: -1 }),
      () => notes.read([east.id]),
      () => notes.page("a.md", { from: 0, limit: 2 }),
      () => notes.upsert([east]),
      () => server.store.drop("notes"),
    ];
    for (const call of calls) expect(await rejectionOf(call())).toMatchObject(tooLarge);
  });

  test("that say how long they are need not be read for that", async () => {
    await using server = hostile(() => new Response("x".repeat(20 << 20)));
    await using notes = await notesOf(server);
    expect(await rejectionOf(notes.count())).toMatchObject(tooLarge);
  });

  test("are not unpacked: what is small on the wire may be large", async () => {
    const packed = Bun.gzipSync(JSON.stringify({ result: { count: 5 } }).padEnd(1 << 16));
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    await using server = hostile(() => new Response(packed, { headers }));
    await using notes = await notesOf(server);
    expect(await rejectionOf(notes.count())).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("gave an answer that cannot be read"),
    });
  });

  test("that lead to another server are not followed", async () => {
    await using other = hostile(() => Response.json({ result: { count: 5 } }));
    for (const status of [301, 302, 303, 307, 308]) {
      const headers = { location: `${other.url}collections/notes/points/count` };
      await using server = hostile(() => new Response(null, { status, headers }));
      await using notes = await notesOf(server);
      expect(await rejectionOf(notes.count())).toMatchObject({
        kind: "unavailable",
        message: expect.stringMatching(/leads to another address \(30\d\).*not followed/),
      });
    }
    expect(other.asked).toEqual([]);
  });

  test.each([400, 409, 413, 422])("with %d are a refusal of the server", async (status) => {
    const error = `Wrong input\u001b[2J ${"x".repeat(5000)}`;
    await using server = hostile(() => Response.json({ status: { error } }, { status }));
    await using notes = await notesOf(server);
    const refusal = await rejectionOf(notes.search(east.vector, everything));
    expect(refusal).toMatchObject({
      kind: "upstream_refused",
      message: expect.stringContaining(`refused a request (${status}: Wrong input [2J x`),
    });
    expect(String(refusal).length).toBeLessThan(600);
  });

  test.each([
    ["a dimension that no vector has", { size: 1e15, distance: "Cosine" }],
    ["a dimension of nothing", { size: 0, distance: "Cosine" }],
    ["half a dimension", { size: 2.5, distance: "Cosine" }],
    ["a distance that is none", { size: 3, distance: 7 }],
  ])("that describe a collection with %s are refused", async (_, vectors) => {
    await using server = hostile(() => Response.json({}), { params: { vectors } });
    expect(await rejectionOf(server.store.open("notes"))).toMatchObject({ kind: "unavailable" });
  });

  test("with a count below nothing have none", async () => {
    await using server = hostile(() => Response.json({ result: { count: -5 } }));
    await using notes = await notesOf(server);
    expect(await rejectionOf(notes.count())).toMatchObject({ kind: "unavailable" });
  });

  test("with vectors of another length have no vectors", async () => {
    const vectors = [[1, 0, 0], [1], new Array(5000).fill(1), [1, "0", 0]];
    const points = vectors.map((vector, id) => ({ id, vector, payload: { source: "A" } }));
    await using server = hostile(() => pointsOf(points));
    await using notes = await notesOf(server);
    expect((await collect(notes.passages())).map(({ id }) => id)).toEqual(["0"]);
  });

  test("that list pages out of order, or again, end the list", async () => {
    const offsets = [4, 9, 2];
    const point = { id: 1, vector: [1, 0, 0], payload: { source: "A", document: "a.md" } };
    for (const list of ["passages", "documents"] as const) {
      let page = 0;
      await using server = hostile(() => {
        // So that a reader that goes on ends all the same.
        const next_page_offset = page > 50 ? null : (offsets[page] ?? page);
        page++;
        return pointsOf([point], { next_page_offset });
      });
      await using notes = await notesOf(server);
      const reading = list === "passages" ? collect(notes.passages()) : notes.documents();
      expect(await rejectionOf(reading)).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("comes to no end"),
      });
      expect(page).toBe(3);
    }
  });

  test("that name documents without end are read no further than a node can hold", async () => {
    const made = 2000;
    const document = "D".repeat(8);
    const point = (at: number) => `{"id":1,"payload":{"document":"${document}${at}","parts":1}}`;
    const page = Array.from({ length: made }, (_, at) => point(at)).join(",");
    let pages = 0;
    await using server = hostile(() => {
      pages++;
      // So that a reader that goes on ends all the same.
      const next = pages > 300 ? "null" : pages;
      const points = page.replaceAll(document, `${pages}.`);
      return new Response(`{"result":{"points":[${points}],"next_page_offset":${next}}}`);
    });
    await using notes = await notesOf(server);
    expect(await rejectionOf(notes.documents())).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("larger than a node can hold"),
    });
  }, 60_000);

  test("with more points than were asked for are cut", async () => {
    const points = Array.from({ length: 500 }, (_, id) => ({ id, payload: { source: "A" } }));
    await using server = hostile(() => pointsOf(points));
    await using notes = await notesOf(server);
    expect(await notes.page("a.md", { from: 0, limit: 2 })).toHaveLength(2);
  });

  test("have ids up to 64 bits, exactly", async () => {
    const ids = ["9007199254740993", "18446744073709551615"];
    const point = (id = "") =>
      `{"id":${id},"vector":[1,0,0],"payload":{"source":"\\"id\\":${id}"}}`;
    const bodies: string[] = [];
    await using server = hostile((_, body) => {
      bodies.push(body);
      const [id, next] = body.includes('"offset":null') ? ids : [ids[1], "null"];
      return new Response(`{"result":{"points":[${point(id)}],"next_page_offset":${next}}}`);
    });
    await using notes = await notesOf(server);
    const read = await collect(notes.passages());
    expect(read.map(({ id, source }) => [id, source])).toEqual(ids.map((id) => [id, `"id":${id}`]));
    expect(bodies[1]).toContain(`"offset":${ids[1]}`);
  });

  test("are not parsed on the loop", async () => {
    const size = 8192;
    const vector = Array.from({ length: size }, (_, at) => Math.sin(at));
    const payload = { source: "x".repeat(2000), document: "a.md" };
    const points = Array.from({ length: 64 }, (_, id) => ({ id, score: 0.5, vector, payload }));
    const answer = JSON.stringify({ result: { points } });
    const config = { params: { vectors: { size, distance: "Dot" } } };
    await using server = hostile(() => new Response(answer), config);
    await using notes = await notesOf(server);
    using loop = watchLoop();
    JSON.parse(answer);
    const parsing = loop.longest();
    await loop.idle();
    loop.longest();
    expect(await notes.search(Float32Array.from(vector), everything)).toHaveLength(64);
    expect(loop.longest()).toBeLessThan(parsing / 2);
  });
});
