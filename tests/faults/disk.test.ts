/** The disk fills up, can only be read, or hangs. */
import { describe, expect, test } from "bun:test";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileRecord } from "../../src/core/documents/records.ts";
import { noLog } from "../../src/core/log.ts";
import { sqliteDocuments } from "../../src/store/documents/sqlite-documents.ts";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { chatBody, sharedNode } from "../support/node-under-fault.ts";
import { runPaddock, servePaddock, startPaddock } from "../support/paddock-process.ts";
import { passage } from "../support/passages.ts";
import { rejectionOf } from "../support/rejection.ts";
import { canMakeDisks, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { canStopThreads, stopStores } from "../support/stopped-threads.ts";
import { tempDir } from "../support/temp-dir.ts";
import { specOf } from "../support/test-models.ts";
import { tinyConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

const pages = 5;

/** A document of 300 passages, about 400 kB once they are stored. */
const page = (at: number): string =>
  Array.from(
    { length: 300 },
    (_, line) => `# Part ${line}\n\nOn page ${at} it is said ${line * 7} times`,
  ).join("\n\n");

const testFile = (id: string): FileRecord => ({
  ...{ id, filename: "a.md", bytes: 5, sha256: "", type: "text/markdown" },
  ...{ purpose: "assistants", createdAt: new Date("2026-11-15T12:00:00Z") },
});

/** Where the program's own cache is kept is not what is tried, nor are the processes of its models. */
const env = { HOME: tmpdir(), PADDOCK_ISOLATION: "none" };

// Why they are skipped is said by canMakeDisks.
describe.skipIf(!(await canMakeDisks()))("a disk", () => {
  let disk: SmallDisk;
  let key: string | undefined;
  const startedNode = sharedNode(async () => {
    disk = await smallDisk(20);
    return { folder: disk, engine: 'isolation = "none"' };
  });

  test.each([
    ["killed", "SIGKILL"],
    ["stopped", "SIGTERM"],
  ] as const)(
    "that is read-only lets a node that was %s start and answer, and keeps an ingest out with a message",
    async (_, how) => {
      const under = await startedNode();
      key ??= (await runPaddock(["keys", "create", "ada"], { cwd: disk.path, env })).stdout.trim();
      under.useKey(key);
      await under.expectWell();
      await writeFile(join(disk.path, "bees.md"), "Bees hum, too.");
      await under.stop(how);
      disk.setReadOnly(true);
      const refused = await runPaddock(["ingest", "bees.md"], { cwd: disk.path, env });
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining("can only be read"),
      ]);
      await under.restart();
      await under.expectWell();
      await under.stop(how);
      disk.setReadOnly(false);
      await under.restart();
      await under.expectWell();
    },
  );

  test("that can be written again is written by a node that was started before", async () => {
    await using disk = await smallDisk(20);
    const spec = specOf(2);
    const open = () => {
      const registry = sqliteDocuments(join(disk.path, "documents.sqlite"));
      const collections = new SqliteCollectionStore(join(disk.path, "collections"), noLog);
      return { registry, collections };
    };
    {
      const { registry, collections } = open();
      await using _ = registry;
      await using repository = await collections.create("notes", spec);
      await repository.upsert([passage(1, [1, 0])]);
      await registry.addFile(testFile("file-1"));
    }
    disk.setReadOnly(true);
    const { registry, collections } = open();
    await using _ = registry;
    await using repository = await collections.create("notes", spec);
    expect(await registry.findFiles(["file-1"])).toHaveLength(1);
    expect(await rejectionOf(registry.addFile(testFile("file-2")))).toMatchObject({
      message: expect.stringContaining("can only be read"),
    });
    expect(await repository.count()).toBe(1);
    disk.setReadOnly(false);
    await registry.addFile(testFile("file-2"));
    await repository.upsert([passage(2, [0, 1])]);
    expect(await registry.findFiles(["file-1", "file-2"])).toHaveLength(2);
    expect(await repository.count()).toBe(2);
  });

  test("that is read-only shows what another process, which may write, changes in a collection", async () => {
    await using disk = await smallDisk(20);
    const writing = new SqliteCollectionStore(disk.path, noLog);
    const add = async (at: number): Promise<void> => {
      await using repository = await writing.create("notes", specOf(2));
      await repository.upsert([passage(at, [1, 0])]);
    };
    await add(1);
    await using view = await disk.readOnlyView();
    await using repository = await new SqliteCollectionStore(view.path, noLog).open("notes");
    expect(await repository?.count()).toBe(1);
    for (const count of [2, 3]) {
      await add(count);
      expect(await repository?.count()).toBe(count);
      const bounds = { limit: 5, scoreThreshold: 0 };
      expect(await repository?.search(Float32Array.of(1, 0), bounds)).toHaveLength(count);
    }
    await writing.drop("notes");
    const others = { ...specOf(2), embedding: { ...specOf(2).embedding, fingerprint: "another" } };
    await (await writing.create("notes", others))[Symbol.asyncDispose]();
    const refused = await rejectionOf(repository?.count() ?? Promise.resolve());
    expect(refused).toMatchObject({ kind: "collection_mismatch" });
  });

  test("that is read-only from the beginning is said at the start", async () => {
    await using disk = await smallDisk(20);
    await using folder = await tempDir();
    await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
    await mkdir(join(disk.path, "data"));
    disk.setReadOnly(true);
    const started = startPaddock(["serve", "--port", "0", "--data-dir", join(disk.path, "data")], {
      cwd: folder.path,
      env,
    });
    await using _ = started;
    expect(await started.exit()).toBe(1);
    expect(started.stderr()).toMatch(/read-only|can only be read/i);
  });

  test("that is full lets a node that was stopped start and answer, and gives it its passages once there is room", async () => {
    const under = await startedNode();
    key ??= (await runPaddock(["keys", "create", "ada"], { cwd: disk.path, env })).stdout.trim();
    under.useKey(key);
    await under.stop("SIGTERM");
    const filler = join(disk.path, "filler");
    await writeFile(filler, new Uint8Array(64e6)).catch(() => {});
    await under.restart();
    const ask = async (init?: RequestInit): Promise<number> =>
      (await under.post("/chat/completions", chatBody("hi", 3), init)).status;
    expect(await ask()).toBe(200);
    expect(await ask({ headers: { "content-type": "application/json" } })).toBe(401);
    expect(await under.ready()).toMatchObject({
      status: 503,
      reasons: [expect.stringContaining("The node's collection is not ready")],
    });
    const refused = await runPaddock(["keys", "create", "grace"], { cwd: disk.path, env });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("ree some space")]);
    await rm(filler);
    await under.expectWell();
  });

  test("that fills up with the last line of an export leaves none that is cut off", async () => {
    await using disk = await smallDisk(1);
    await using folder = await tempDir();
    await writeFile(join(disk.path, "others"), Buffer.alloc(255 * 4096));
    await writeFile(join(disk.path, "out.jsonl.part"), "");
    const store = new SqliteCollectionStore(join(folder.path, ".paddock/collections"), noLog);
    {
      await using repository = await store.create("notes", specOf(2));
      await repository.upsert([passage(1, [1, 0], { source: "l".repeat(4096) })]);
    }
    const args = ["collections", "export", "notes", "--output", join(disk.path, "out.jsonl")];
    const { code, stderr } = await runPaddock(args, { cwd: folder.path, env });
    expect([code, stderr]).toEqual([1, expect.stringContaining("was not written: ENOSPC")]);
    expect((await readdir(disk.path)).sort()).toEqual(["others", "out.jsonl.part"]);
  });

  test("that fills up stops an ingest with a message; nothing that was stored is lost", async () => {
    await using documents = await tempDir();
    for (let at = 0; at < pages; at++) {
      await writeFile(join(documents.path, `page-${at}.md`), page(at));
    }
    const under = await startedNode();
    disk.resize(2);
    const ingest = () => runPaddock(["ingest", documents.path], { cwd: disk.path, env });
    const stored = async (): Promise<number> => {
      const { stdout } = await runPaddock(["collections", "count"], { cwd: disk.path, env });
      return Number(stdout);
    };
    const full = await ingest();
    expect(full.code).toBe(1);
    expect(full.stderr).toContain(
      "The collection 'default' cannot be written: the disk is full. Free some space",
    );
    const kept = await stored();
    expect(kept).toBeGreaterThan(300);
    // The node goes on, also with what it cannot save.
    expect((await under.ready()).status).toBe(200);
    expect((await under.post("/chat/completions", chatBody("hi", 3))).status).toBe(200);
    disk.resize(30);
    const again = await ingest();
    expect(again.code).toBe(0);
    expect(await stored()).toBe(pages * 300 + 2);
    // What was stored is not embedded again: whole documents are unchanged, the rest of one is reused.
    const embedded = Number(/Stored (\d+) passages/.exec(again.stdout)?.[1]);
    expect(embedded).toBe(pages * 300 + 2 - kept);
  });
});

test.skipIf(!canStopThreads())("a node that is stopped while its disk hangs ends", async () => {
  await using folder = await tempDir();
  await writeFile(join(folder.path, "paddock.toml"), await tinyConfig());
  await using node = await servePaddock({
    cwd: folder.path,
    env: { ...env, PADDOCK_SHUTDOWN_GRACE: "0" },
  });
  const body = JSON.stringify({ name: "llamas" });
  const headers = { "content-type": "application/json" };
  await fetch(`${node.origin}/v1/vector_stores`, { method: "POST", headers, body });
  const stopped = await stopStores(node.process.pid);
  node.process.kill("SIGTERM");
  await waitFor("the end", () => node.stderr().includes("did not close its files in time"), 30);
  // The kernel tells this process of the end once nobody traces it.
  stopped[Symbol.dispose]();
  expect(await node.exit()).toBe(1);
});
