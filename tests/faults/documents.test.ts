/** Documents over HTTP when uploads break off, the disk is full or away, or the node dies. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { expectOthersAnswered, watchHealth } from "../support/health-watch.ts";
import { type NodeUnderFault, sharedNode } from "../support/node-under-fault.ts";
import { servePaddock } from "../support/paddock-process.ts";
import { memoryOf } from "../support/process-tree.ts";
import { connectRaw } from "../support/raw-client.ts";
import { runningDocuments } from "../support/running-documents.ts";
import { silentLog } from "../support/silence.ts";
import { canMakeDisks, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { specOf } from "../support/test-models.ts";
import { waitFor } from "../support/wait-for.ts";

const startedNode = sharedNode();

const clientOf = ({ node }: NodeUnderFault): OpenAI =>
  new OpenAI({ baseURL: `${node.origin}/v1`, apiKey: "any", maxRetries: 0 });

/** The files of a node's data dir, of uploads and of collections. */
const left = async ({ folder }: NodeUnderFault, of: "files" | "collections"): Promise<string[]> =>
  (await readdir(join(folder.path, ".paddock", of)).catch((): string[] => [])).sort();

/** How many passages a collection holds now, whole documents or not; asked many times a second, so without the threads of a store. */
async function passagesIn({ folder }: NodeUnderFault, collection: string): Promise<number> {
  const file = join(folder.path, ".paddock", "collections", `${collection}.sqlite`);
  if (!(await Bun.file(file).exists())) return 0;
  using database = new Database(file, { readonly: true });
  database.run("pragma busy_timeout = 60000");
  const [made] = database.query("select 1 from sqlite_master where name = 'passages'").values();
  if (made === undefined) return 0;
  return Number(database.query("select count(*) from passages").values()[0]?.[0]);
}

/** A document of so many passages, each with a word of its own. */
const parts = (count: number, word: string): string =>
  Array.from({ length: count }, (_, at) => `# Part ${at}\n\nThis is ${word} ${at}.`).join("\n\n");

const upload = async (client: OpenAI, text: string, name = "parts.md"): Promise<string> => {
  const file = await toFile(Buffer.from(text), name);
  return (await client.files.create({ file, purpose: "assistants" })).id;
};

const head =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\nContent-Type: text/markdown\r\n\r\n';

/** Begins an upload, and sends as much of it. */
async function beginUpload(under: NodeUnderFault, bytes: number) {
  const raw = await connectRaw(under.node.origin);
  raw.send(
    `POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 10000000\r\n\r\n${head}${"x".repeat(bytes)}`,
  );
  await waitFor("the upload to be written", async () => (await left(under, "files")).length > 0);
  return raw;
}

test("an upload that breaks off leaves nothing, whether the client goes or the node dies", async () => {
  const under = await startedNode();
  const raw = await beginUpload(under, 100_000);
  raw[Symbol.dispose]();
  await waitFor("it to be gone", async () => (await left(under, "files")).length === 0);
  // Without a registry nothing of the folder is touched.
  await clientOf(under).files.delete(await upload(clientOf(under), "text"));
  using _other = await beginUpload(under, 100_000);
  await under.stop("SIGKILL");
  expect(await left(under, "files")).toHaveLength(1);
  await under.restart();
  await waitFor("it to be gone", async () => (await left(under, "files")).length === 0);
  expect((await clientOf(under).files.list()).data).toEqual([]);
  await under.expectWell();
});

describe.skipIf(!(await canMakeDisks()))("a disk", () => {
  let disk: SmallDisk;
  const nodeOnDisk = sharedNode(async () => {
    disk = await smallDisk(2);
    return { folder: disk };
  });

  test("that fills up refuses uploads and holds files back; nothing is lost, and all goes on when there is room", async () => {
    const under = await nodeOnDisk();
    const client = clientOf(under);
    const store = await client.vectorStores.create({ name: "small" });
    const [first, second] = [
      await upload(client, parts(300, "llama"), "first.md"),
      await upload(client, parts(1000, "bee"), "second.md"),
    ];
    const refused = await upload(client, "x".repeat(8e6), "large.txt").catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({
      status: 503,
      message: expect.stringContaining("disk is full"),
    });
    expect(await left(under, "files")).toEqual([first, second].sort());
    await client.vectorStores.files.createAndPoll(store.id, { file_id: first });
    await client.vectorStores.files.create(store.id, { file_id: second });
    const where = { vector_store_id: store.id };
    const file = () => client.vectorStores.files.retrieve(second, where);
    await waitFor("the disk to be full", async () => (await file()).last_error !== null, 20);
    expect(await file()).toMatchObject({
      status: "in_progress",
      last_error: { code: "server_error", message: expect.stringContaining("the disk is full") },
    });
    const search = async (query: string) =>
      (await client.vectorStores.search(store.id, { query, max_num_results: 50 })).data;
    // Nothing of the second is found while it is not whole, and the first still is.
    expect((await search("This is bee 7")).every(({ file_id }) => file_id === first)).toBe(true);
    disk.resize(60);
    await waitFor("its ingest", async () => (await file()).status === "completed", 20);
    expect(await file()).toMatchObject({ last_error: null, passages: 1000 });
    const content = await client.vectorStores.files.content(second, where);
    expect(content.data).toHaveLength(1000);
    expect((await search("This is bee 7")).some(({ file_id }) => file_id === second)).toBe(true);
    await under.expectWell();
  });

  test("that can only be read lets a node answer from what it has, and say why it takes nothing", async () => {
    const under = await nodeOnDisk();
    const store = await clientOf(under).vectorStores.create({ name: "kept" });
    const id = await upload(clientOf(under), "Llamas hum.", "llamas.txt");
    await clientOf(under).vectorStores.files.createAndPoll(store.id, { file_id: id });
    await under.stop("SIGTERM");
    disk.setReadOnly(true);
    await under.restart();
    const client = clientOf(under);
    const { data } = await client.vectorStores.search(store.id, { query: "Llamas hum" });
    expect(data).toMatchObject([{ file_id: id }]);
    const refused = await upload(client, "more").catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 503 });
    expect(await (await client.files.content(id)).text()).toBe("Llamas hum.");
    await under.stop("SIGKILL");
    disk.setReadOnly(false);
  });
});

describe("a node", () => {
  test("on the data dir of another leaves the documents to it, until it ends", async () => {
    const under = await startedNode();
    const id = await upload(clientOf(under), "Llamas hum.", "llamas.txt");
    await using second = await servePaddock({ cwd: under.folder.path });
    const other = new OpenAI({ baseURL: `${second.origin}/v1`, apiKey: "any", maxRetries: 0 });
    expect((await other.files.list()).data.map((file) => file.id)).toEqual([id]);
    const refused = await upload(other, "more").catch((error: unknown) => error);
    expect(refused).toMatchObject({
      status: 503,
      message: expect.stringContaining("Another node has the documents of this data dir"),
    });
    await under.stop("SIGKILL");
    await upload(other, "more");
  });

  test("that is killed while it takes files in goes on at the next start, each once", async () => {
    const under = await startedNode();
    const store = await clientOf(under).vectorStores.create({});
    const files = [];
    const each = 200;
    for (const word of ["llama", "bee", "crow"]) {
      files.push(await upload(clientOf(under), parts(each, word), `${word}.md`));
    }
    const { id: batch } = await clientOf(under).vectorStores.fileBatches.create(store.id, {
      file_ids: files,
    });
    const where = { vector_store_id: store.id };
    for (let kills = 0; kills < 2; kills++) {
      const client = clientOf(under);
      const counts = async () =>
        (await client.vectorStores.fileBatches.retrieve(batch, where)).file_counts;
      await waitFor("a part of a file to be stored", async () => {
        const stored = await passagesIn(under, store.id);
        return stored > each * kills && (stored % each > 0 || stored === 3 * each);
      });
      const { completed, in_progress, total } = await counts();
      expect(completed + in_progress).toBe(total);
      await under.stop("SIGKILL");
      await under.restart();
    }
    const client = clientOf(under);
    const done = await client.vectorStores.fileBatches.poll(store.id, batch);
    expect(done.file_counts).toMatchObject({ completed: 3, total: 3 });
    for (const file of files) {
      const { data } = await client.vectorStores.files.content(file, where);
      expect(data).toHaveLength(each);
      expect(new Set(data.map(({ text }) => text)).size).toBe(each);
    }
    await under.expectWell();
  });
});

test("an upload of many megabytes costs little memory, and holds nobody up", async () => {
  const under = await startedNode();
  using health = await watchHealth(under.node);
  const before = await memoryOf(under.node.process.pid);
  await expectOthersAnswered(async () => {
    await health.seen();
    const ids = await Promise.all(
      ["a", "b", "c"].map((name) => upload(clientOf(under), "x".repeat(60e6), `${name}.bin`)),
    );
    expect(ids).toHaveLength(3);
    expect(await memoryOf(under.node.process.pid)).toBeLessThan(before + 100e6);
    return health.seen();
  });
});

test("a node answers others while it takes in a large file", async () => {
  const under = await startedNode();
  using health = await watchHealth(under.node);
  const client = clientOf(under);
  const sentence = "The llama hums in the valley while the bees buzz around it. ";
  const id = await upload(client, `${sentence.repeat(4)}\n\n`.repeat(1000), "long.txt");
  await expectOthersAnswered(async () => {
    const store = await client.vectorStores.create({});
    await health.seen();
    await client.vectorStores.files.create(store.id, { file_id: id });
    const where = { vector_store_id: store.id };
    await waitFor(
      "it to be cut, and passages of it to be stored",
      async () => (await passagesIn(under, store.id)) > 0,
    );
    expect((await client.vectorStores.files.retrieve(id, where)).status).toBe("in_progress");
    expect((await client.vectorStores.search(store.id, { query: "llama" })).data).toEqual([]);
    const seen = await health.seen();
    // It is ended at once, whatever it is at, and leaves nothing.
    await client.vectorStores.delete(store.id);
    const files = await left(under, "collections");
    expect(files.filter((name) => name.startsWith(store.id))).toEqual([]);
    return seen;
  });
  expect((await under.ready()).status).toBe(200);
});

test("a vector store leaves nothing in collections that are away when its files are removed and it is deleted", async () => {
  await using running = await runningDocuments();
  const { client, app, place } = running;
  const folder = join(place, "collections");
  const collections = new SqliteCollectionStore(folder, silentLog);
  await using own = await collections.create("default", specOf(2));
  const prefixes = { queryPrefix: "", documentPrefix: "" };
  await app.documents.collections.attach("default", { repository: own, prefixes });
  const { id } = await client.store();
  const file = await client.taken(id, "Llamas hum.");
  await rename(folder, `${folder}.away`);
  await client.send("DELETE", `/vector_stores/${id}/files/${file.id}`);
  expect((await client.send("DELETE", `/vector_stores/${id}`)).status).toBe(200);
  await rename(`${folder}.away`, folder);
  await client.taken("vs_default", "Goats bleat.");
  await waitFor("it to be gone", async () => !(await readdir(folder)).includes(`${id}.sqlite`));
});
