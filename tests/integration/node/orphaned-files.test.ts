/** Uploads whose registry is missing, damaged or older than they are: none of them is ever deleted for it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkDocuments } from "../../../src/cli/doctor/machine.ts";
import { FileObject } from "../../../src/server/operations/files/schema.ts";
import { pageSchema } from "../../../src/server/wire/page-schema.ts";
import { DataDirLock } from "../../../src/store/data-dir-lock.ts";
import { decode } from "../../support/decode.ts";
import { runPaddock } from "../../support/paddock-process.ts";
import { type LogLine, recordingLog } from "../../support/recording-log.ts";
import { type RunningDocuments, runningDocuments } from "../../support/running-documents.ts";
import { type TempDir, tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

let folder: TempDir;
let place: string;
let lines: LogLine[];
beforeEach(async () => {
  folder = await tempDir();
  place = join(folder.path, ".paddock");
});
afterEach(() => folder[Symbol.asyncDispose]());

const registry = (): string => join(place, "documents.sqlite");
const names = async (...path: string[]): Promise<string[]> =>
  (await readdir(join(place, ...path)).catch((): string[] => []))
    .filter((name) => name !== "orphaned")
    .sort();

/** Runs a node on the folder, and waits until it has looked at what is there. */
async function withNode(work: (running: RunningDocuments) => Promise<void>): Promise<void> {
  const recording = recordingLog();
  lines = recording.lines;
  await using running = await runningDocuments({
    documents: { folder: place, log: recording.log },
  });
  await work(running);
}

const upload = async ({ client }: RunningDocuments, text: string): Promise<string> =>
  (await decode(FileObject, await client.upload(text, "notes.md"))).id;

const listed = async ({ client }: RunningDocuments): Promise<string[]> =>
  (await decode(pageSchema(FileObject), await client.send("GET", "/files"))).data
    .map(({ id }) => id)
    .sort();

/** Two files, with a copy of the registry from between them. */
async function twoFiles(): Promise<[string, string]> {
  let first = "";
  let second = "";
  await withNode(async (running) => {
    first = await upload(running, "first");
  });
  await copyFile(registry(), join(folder.path, "older.sqlite"));
  await withNode(async (running) => {
    second = await upload(running, "second");
  });
  return [first, second];
}

const doctor = () => checkDocuments({ dataDir: place });

test("content that cannot be deleted is told, and keeps no other file from its place", async () => {
  let [stranger, kept] = ["", ""];
  await withNode(async (running) => {
    const { app, client } = running;
    const { id } = await client.taken("vs_default", "first");
    stranger = await upload(running, "second");
    kept = await upload(running, "third");
    expect(await app.repository.count()).toBe(1);
    await rm(join(place, "files", id));
    // Nobody's rights are enough to delete it as a file.
    await mkdir(join(place, "files", id));
    const answer = await client.send("DELETE", `/files/${id}`);
    expect(answer.status).toBe(503);
    expect(await app.repository.count()).toBe(0);
    const said = await answer.text();
    expect(said).toContain("the next start of the node tries again");
    expect(said).not.toContain(place);
    expect(await listed(running)).toEqual([stranger, kept].sort());
  });
  await rename(join(place, "files", stranger), join(place, "files", `${stranger.slice(0, -1)}_`));
  await withNode(async () => {
    await waitFor("the other one", async () => (await names("files", "orphaned")).length === 1);
    expect(lines.map(({ message }) => message)).toContain(
      "the content of a deleted file is still there; the next start tries again",
    );
  });
});

test("changes that a killed node left beside a registry that was moved away are kept", async () => {
  const kept = join(folder.path, "kept.sqlite");
  let id = "";
  await withNode(async (running) => {
    id = await upload(running, "first");
    // As they are when the process is killed now.
    for (const end of ["", "-wal"]) await copyFile(`${registry()}${end}`, `${kept}${end}`);
  });
  await rm(registry());
  await copyFile(`${kept}-wal`, `${registry()}-wal`);
  await withNode(async (running) => {
    expect(await listed(running)).toEqual([]);
    const refused = await running.client.upload("second", "notes.md");
    expect(refused.status).toBe(503);
    expect(await refused.text()).toContain("documents.sqlite-wal");
  });
  expect(await readFile(`${registry()}-wal`)).toEqual(await readFile(`${kept}-wal`));
  expect(await names("files", "orphaned")).toEqual([]);
  await copyFile(kept, registry());
  await withNode(async (running) => expect(await listed(running)).toEqual([id]));
});

test("a folder of uploads that is away is not taken for an empty one, and what was deleted meanwhile stays deleted", async () => {
  const [files, moved] = [join(place, "files"), join(folder.path, "moved")];
  let [first, second] = ["", ""];
  await withNode(async (running) => {
    const { app, client } = running;
    [first, second] = [await upload(running, "first"), await upload(running, "second")];
    const { id: store } = await client.store();
    await rename(files, moved);
    // As an empty mount point has it.
    await mkdir(files);
    await app.documents.state.problem();
    expect(app.documents.state.note()).toContain("The uploads are away");
    for (const refused of [
      await client.upload("third", "notes.md"),
      await client.send("GET", `/files/${first}/content`),
      await client.send("DELETE", `/files/${second}`),
    ]) {
      expect(refused.status).toBe(503);
      expect(await refused.text()).toContain("The uploads are away");
    }
    expect(await listed(running)).toEqual([first]);
    await client.send("POST", `/vector_stores/${store}/files`, { file_id: first });
    await waitFor("the reason", async () => {
      const { last_error: reason } = await client.getFile(store, first);
      return reason?.message.includes("The uploads are away") === true;
    });
    expect(await client.getFile(store, first)).toMatchObject({ status: "in_progress" });
  });
  await withNode(async () => {
    await waitFor("the log line", async () => lines.some(({ level }) => level === "error"));
    expect(lines.find(({ level }) => level === "error")?.fields).toMatchObject({
      reason: expect.stringContaining("The uploads are away"),
    });
  });
  expect(await doctor()).toMatchObject({
    status: "problem",
    message: expect.stringContaining("1 of 1 uploads"),
  });
  await rm(files, { recursive: true });
  await rename(moved, files);
  await withNode(async (running) => {
    await waitFor("the deletion", async () => (await names("files")).length === 1);
    expect(await listed(running)).toEqual([first]);
    await running.app.documents.state.problem();
    expect(running.app.documents.state.note()).toBeUndefined();
    expect((await running.client.upload("third", "notes.md")).status).toBe(200);
  });
  expect(await names("files", "orphaned")).toEqual([]);
});

test("the only upload stays deleted that is deleted while its folder is away", async () => {
  const [files, moved] = [join(place, "files"), join(folder.path, "moved")];
  await withNode(async (running) => {
    const id = await upload(running, "first");
    await rename(files, moved);
    expect((await running.client.send("DELETE", `/files/${id}`)).status).toBe(200);
  });
  await withNode(async (running) => expect(await listed(running)).toEqual([]));
  await rename(moved, files);
  const recovery = await runPaddock(["documents", "recover"], { cwd: folder.path });
  expect(recovery).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing") });
  expect(await readdir(files)).toEqual([]);
});

test("a deletion that is not finished is not undone by 'paddock documents recover'", async () => {
  let id = "";
  await withNode(async (running) => {
    id = await upload(running, "first");
    await upload(running, "second");
    await rm(join(place, "files", id));
    await mkdir(join(place, "files", id));
    expect((await running.client.send("DELETE", `/files/${id}`)).status).toBe(503);
  });
  await rm(join(place, "files", id), { recursive: true });
  await writeFile(join(place, "files", id), "first");
  const recovery = await runPaddock(["documents", "recover"], { cwd: folder.path });
  expect(recovery).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing") });
  expect(await names("files")).not.toContain(id);
});

test("uploads that were set aside are read and deleted where they are once they have their record back", async () => {
  const [first, second] = await twoFiles();
  await rename(registry(), join(folder.path, "newer.sqlite"));
  await copyFile(join(folder.path, "older.sqlite"), registry());
  await withNode(async (running) => {
    await waitFor("it to be aside", async () => (await names("files", "orphaned")).length === 1);
    await rename(join(folder.path, "newer.sqlite"), registry());
    const content = await running.client.send("GET", `/files/${second}/content`);
    expect(await content.text()).toBe("second");
    expect((await running.client.send("DELETE", `/files/${second}`)).status).toBe(200);
    expect(await listed(running)).toEqual([first]);
  });
  expect(await names("files", "orphaned")).toEqual([]);
});

test("an upload that is set aside already keeps no other from its place", async () => {
  const [first, second] = await twoFiles();
  const stranger = `file-${"0".repeat(24)}`;
  await mkdir(join(place, "files", "orphaned"));
  await copyFile(join(place, "files", first), join(place, "files", "orphaned", first));
  for (const where of ["files", "files/orphaned"]) {
    await writeFile(join(place, where, stranger), where);
  }
  await rename(join(place, "files", second), join(place, "files", "orphaned", second));
  await withNode(async () => {
    await waitFor("it to be back", async () => (await names("files")).includes(second));
  });
  expect(await names("files", "orphaned")).toEqual([stranger, first].sort());
  expect(lines.filter(({ level }) => level === "warn")).toMatchObject([
    { message: expect.stringContaining("both stay"), fields: { files: 2 } },
  ]);
  const recovery = await runPaddock(["documents", "recover"], { cwd: folder.path });
  expect(recovery).toMatchObject({ code: 0, stdout: expect.stringContaining("1 file is back") });
});

test("a start without the registry changes nothing, and says so", async () => {
  const files = await twoFiles();
  await rename(registry(), join(folder.path, "moved.sqlite"));
  await withNode(async (running) => {
    await waitFor("the log line", async () => lines.some(({ level }) => level === "error"));
    expect(await listed(running)).toEqual([]);
  });
  expect(lines.filter(({ level }) => level === "error")).toMatchObject([
    { message: expect.stringContaining("no registry"), fields: { files: 2 } },
  ]);
  expect(await names("files")).toEqual([...files].sort());
  expect(await names("files", "orphaned")).toEqual([]);
  await rename(join(folder.path, "moved.sqlite"), registry());
  await withNode(async (running) => expect(await listed(running)).toEqual([...files].sort()));
});

test.each([
  ["damaged", "This was a database."],
  ["emptied", ""],
])("a start with a registry that is %s changes nothing, and says so", async (_, content) => {
  const files = await twoFiles();
  for (const suffix of ["-wal", "-shm"]) await rm(`${registry()}${suffix}`, { force: true });
  await writeFile(registry(), content);
  await withNode(async () => {
    await waitFor("the log line", async () => lines.some(({ level }) => level === "error"));
  });
  expect(await names("files")).toEqual([...files].sort());
  expect(await names("files", "orphaned")).toEqual([]);
  expect(await doctor()).toMatchObject({ status: "problem" });
});

test("what an older registry does not know is set aside, and comes back with the newer one", async () => {
  const [first, second] = await twoFiles();
  await rename(registry(), join(folder.path, "newer.sqlite"));
  await copyFile(join(folder.path, "older.sqlite"), registry());
  await withNode(async (running) => {
    await waitFor(
      "it to be set aside",
      async () => (await names("files", "orphaned")).length === 1,
    );
    expect(await listed(running)).toEqual([first]);
  });
  expect(await names("files")).toEqual([first]);
  expect(await readFile(join(place, "files", "orphaned", second), "utf8")).toBe("second");
  expect(lines.filter(({ level }) => level === "warn")).toMatchObject([
    { message: expect.stringContaining("orphaned"), fields: { files: 1 } },
  ]);
  expect(await doctor()).toMatchObject({
    status: "note",
    message: expect.stringContaining("files/orphaned"),
    remedy: expect.stringContaining("paddock documents recover"),
  });
  await rename(join(folder.path, "newer.sqlite"), registry());
  await withNode(async ({ client }) => {
    await waitFor("it to be back", async () => (await names("files", "orphaned")).length === 0);
    const content = await client.send("GET", `/files/${second}/content`);
    expect(await content.text()).toBe("second");
  });
});

test("'paddock documents recover' makes files of what was set aside, and of files without a registry", async () => {
  const [first, second] = await twoFiles();
  await rm(registry());
  await withNode(async (running) => {
    const third = await upload(running, "third");
    const recovery = await runPaddock(["documents", "recover"], { cwd: folder.path });
    expect(recovery.code).toBe(0);
    expect(recovery.stdout).toContain("2 files");
    expect(await listed(running)).toEqual([first, second, third].sort());
    const file = await decode(FileObject, await running.client.send("GET", `/files/${first}`));
    expect(file).toMatchObject({ bytes: 5, filename: `${first}.txt`, content_type: "text/plain" });
  });
  {
    using node = new DataDirLock(join(place, "documents.lock"), "documents");
    expect(node.take()).toBe(true);
    const refused = await runPaddock(["documents", "recover"], { cwd: folder.path });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("Stop it")]);
  }
  const again = await runPaddock(["documents", "recover"], { cwd: folder.path });
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing") });
  expect(await doctor()).toMatchObject({ status: "ok" });
});

test("a start without the collections of vector stores says which have lost their passages", async () => {
  let id = "";
  await withNode(async ({ client }) => {
    ({ id } = await client.store());
    await client.taken(id, "llamas hum");
    await client.store({ name: "empty" });
  });
  await withNode(async ({ client }) => expect(await client.search(id, "llamas")).toHaveLength(1));
  expect(lines.filter(({ level }) => level === "error")).toEqual([]);
  await rm(join(place, "collections"), { recursive: true });
  await withNode(async () => {
    await waitFor("the log line", async () => lines.some(({ level }) => level === "error"));
  });
  expect(lines.filter(({ level }) => level === "error")).toMatchObject([
    { message: expect.stringContaining("passages"), fields: { stores: [id] } },
  ]);
});
