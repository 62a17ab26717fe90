/** A Qdrant server that is stopped, paused and restarted while the node is asked and documents go in. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { expectOthersAnswered, watchHealth } from "../support/health-watch.ts";
import { chatBody, sharedNode } from "../support/node-under-fault.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { type QdrantServer, qdrantForTests, startQdrant } from "../support/qdrant-server.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyEmbeddingDimension } from "../support/tiny-models.ts";
import { tinyConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const question = { model: "tiny-embedding", messages: [{ role: "user", content: "llamas" }] };

test("something else at Qdrant's address costs the questions to it, and nobody else", async () => {
  let answer = (): Response => Response.json({});
  const config = { params: { vectors: { size: tinyEmbeddingDimension, distance: "Cosine" } } };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith("/count")) return Response.json({ result: { count: 5 } });
      if (pathname.endsWith("/query")) return answer();
      return Response.json({ result: { config, payload_schema: {} } });
    },
  });
  await using resources = new AsyncDisposableStack();
  resources.defer(() => server.stop(true));
  const folder = resources.use(await tempDir());
  const toml = (await tinyConfig()).replace(
    "[vectorstore]",
    `[vectorstore]\nurl = "${server.url}"`,
  );
  await writeFile(join(folder.path, "paddock.toml"), toml);
  const node = resources.use(await servePaddock({ cwd: folder.path }));
  using health = await watchHealth(node);
  const asked = async (path: string, body: object): Promise<[number, string]> => {
    const headers = { "content-type": "application/json" };
    const sent = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${node.origin}/v1${path}`, sent);
    return [response.status, await response.text()];
  };
  answer = () => new Response(`{"result":{"points":[${"1,".repeat(10 << 20)}1]}}`);
  await expectOthersAnswered(async () => {
    await health.seen();
    const [status, text] = await asked("/retrieve", question);
    expect([status, text]).toEqual([503, expect.stringContaining("larger than what was asked")]);
    return await health.seen();
  });
  answer = () => Response.redirect("http://127.0.0.1:9/", 307);
  expect(await asked("/retrieve", question)).toEqual([503, expect.stringContaining("(307)")]);
  answer = () => Response.json({ status: { error: "Wrong input" } }, { status: 400 });
  expect(await asked("/retrieve", question)).toEqual([
    502,
    expect.stringContaining("refused a request (400: Wrong input)"),
  ]);
  const [status, text] = await asked("/chat/completions", chatBody("llamas", 2, { rag: true }));
  expect([status, text]).toEqual([200, expect.stringContaining("refused a request")]);
});

// The server is killed and paused here, which only one of the tests' own may be.
describe.skipIf(!qdrantForTests()?.isOwn)("a Qdrant server", () => {
  const resources = new AsyncDisposableStack();
  let qdrant: QdrantServer;
  const startedNode = sharedNode(async () => {
    qdrant = resources.use(await startQdrant());
    return { vectorstore: `url = "${qdrant.url}"\ntimeout = 5` };
  });
  afterAll(() => resources.disposeAsync());

  /** How many passages the server has in a collection. */
  const points = async (collection: string): Promise<number> => {
    const response = await fetch(`${qdrant.url}/collections/${collection}/points/count`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ exact: true }),
    });
    return Number(/"count":(\d+)/.exec(await response.text())?.[1]);
  };

  test("under load that is killed, paused and restarted costs answers only while it is away", async () => {
    const under = await startedNode();
    const tally = { answered: 0, refused: 0 };
    let isOver = false;
    const loads = Array.from({ length: 4 }, async (_, at) => {
      while (!isOver) {
        const response = await (at % 2 === 0
          ? under.post("/retrieve", question)
          : under.post("/chat/completions", chatBody("llamas", 2, { rag: true })));
        const text = await response.text();
        // A chat is always answered, and says where it had to do without passages.
        if (at % 2 === 1) expect(response.status).toBe(200);
        else expect([200, 503]).toContain(response.status);
        const isRefused = response.status === 503 || text.includes('"error":"');
        tally[isRefused ? "refused" : "answered"]++;
        // The server that starts has the machine between.
        await Bun.sleep(20);
      }
    });
    const until = (isReady: boolean): Promise<void> =>
      waitFor(
        `/ready to become ${isReady}`,
        async () => ((await under.ready()).status === 200) === isReady,
        20,
      );
    await qdrant.kill();
    await until(false);
    await qdrant.start();
    await until(true);
    qdrant.pause();
    await until(false);
    qdrant.resume();
    await until(true);
    await qdrant.restart();
    await until(true);
    isOver = true;
    await Promise.all(loads);
    expect(tally.answered).toBeGreaterThan(0);
    expect(tally.refused).toBeGreaterThan(0);
    await under.expectWell();
  });

  test("that is away holds files back; what is deleted meanwhile is in no answer when it is back", async () => {
    const under = await startedNode();
    const baseURL = `${under.node.origin}/v1`;
    const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });
    const upload = async (text: string): Promise<string> => {
      const file = await toFile(Buffer.from(text), "text.txt");
      return (await client.files.create({ file, purpose: "assistants" })).id;
    };
    const store = await client.vectorStores.create({ name: "away" });
    const taken = async (text: string) => {
      const id = await upload(text);
      await client.vectorStores.files.createAndPoll(store.id, { file_id: id });
      return id;
    };
    const [kept, gone] = [await taken("Llamas hum."), await taken("Llamas hide.")];
    await qdrant.kill();
    const later = await upload("Llamas sing.");
    await client.vectorStores.files.create(store.id, { file_id: later });
    const where = { vector_store_id: store.id };
    const file = () => client.vectorStores.files.retrieve(later, where);
    await waitFor("the file to wait", async () => (await file()).last_error !== null, 20);
    expect(await file()).toMatchObject({
      status: "in_progress",
      last_error: { message: expect.stringContaining("cannot be reached") },
    });
    expect(await client.files.delete(gone)).toMatchObject({ deleted: true });
    const refused = await client.vectorStores
      .search(store.id, { query: "Llamas" })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 503 });
    expect((await client.vectorStores.retrieve(store.id)).file_counts).toMatchObject({
      completed: 1,
      in_progress: 1,
    });
    await qdrant.start();
    const search = async () => {
      const body = {
        model: "tiny-embedding",
        messages: [{ role: "user", content: "Llamas" }],
        collection: store.id,
        include_metadata: true,
      };
      const response = await under.post("/retrieve", body);
      const { points } = await decode(RetrieveResult, response);
      return points.map(({ metadata }) => metadata?.file_id ?? "").sort();
    };
    expect(await search()).not.toContain(gone);
    await waitFor("its ingest", async () => (await file()).status === "completed", 20);
    expect(await search()).toEqual([kept, later].sort());
    await waitFor("the passages to be deleted", async () => (await points(store.id)) === 2, 20);
    await client.vectorStores.delete(store.id);
    expect((await fetch(`${qdrant.url}/collections/${store.id}`)).status).toBe(404);
    await under.expectWell();
  });

  test("that comes back empty loses nothing of what is known of its collections", async () => {
    const under = await startedNode();
    const client = () =>
      new OpenAI({ baseURL: `${under.node.origin}/v1`, apiKey: "any", maxRetries: 0 });
    const upload = async (text: string): Promise<string> => {
      const file = await toFile(Buffer.from(text), "text.txt");
      return (await client().files.create({ file, purpose: "assistants" })).id;
    };
    const copied = await runPaddock(["collections", "copy", "--as", "notes"], {
      cwd: under.folder.path,
    });
    expect(copied).toMatchObject({ code: 0 });
    await client().vectorStores.update("vs_notes", { name: "My notes" });
    const store = await client().vectorStores.create({ name: "filled" });
    const where = { vector_store_id: store.id };
    await client().vectorStores.files.createAndPoll(store.id, { file_id: await upload("Llamas") });
    for (const name of ["notes", store.id]) {
      await fetch(`${qdrant.url}/collections/${name}`, { method: "DELETE" });
    }
    await under.restart();
    const { data } = await client().vectorStores.list();
    expect(data.map(({ name }) => name)).toContain("My notes");
    const later = await upload("Llamas sing.");
    await client().vectorStores.files.create(store.id, { file_id: later });
    const file = () => client().vectorStores.files.retrieve(later, where);
    await waitFor("the file to wait", async () => (await file()).last_error !== null, 20);
    expect(await file()).toMatchObject({ status: "in_progress" });
    for (const id of [store.id, "vs_notes"]) await client().vectorStores.delete(id);
    expect((await client().vectorStores.list()).data).toHaveLength(1);
    await under.expectWell();
  });

  test("that is killed while documents go in has every passage that was acknowledged", async () => {
    const under = await startedNode();
    const cwd = under.folder.path;
    const parts = Array.from({ length: 600 }, (_, at) => `# Part ${at}\n\nThis is part ${at}.`);
    await writeFile(join(cwd, "long.md"), parts.join("\n\n"));
    const ingest = () => runPaddock(["ingest", "long.md"], { cwd });
    const running = ingest();
    await waitFor("passages of the document", async () => (await points("default")) > 2);
    await qdrant.kill();
    expect((await running).code).toBe(1);
    await qdrant.start();
    const count = async (): Promise<number> =>
      Number((await runPaddock(["collections", "count"], { cwd })).stdout);
    const kept = await count();
    const again = await ingest();
    expect(again.code).toBe(0);
    expect(await count()).toBe(602);
    // What was there is not embedded again.
    expect(Number(/Stored (\d+) passages/.exec(again.stdout)?.[1])).toBe(602 - kept);
    expect(await under.ready()).toEqual({ status: 200, reasons: [] });
  });
});
