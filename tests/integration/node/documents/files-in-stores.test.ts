/** What a crash, or two requests at once, do to files in vector stores. */
import { expect, test } from "bun:test";
import { cp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { NodeError } from "../../../../src/core/errors.ts";
import type { EmbeddedPassage } from "../../../../src/core/ports/passage-repository.ts";
import { FileObject } from "../../../../src/server/operations/files/schema.ts";
import { decode } from "../../../support/decode.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { type RunningDocuments, runningDocuments } from "../../../support/running-documents.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const upload = async ({ client }: RunningDocuments, text: string): Promise<string> =>
  (await decode(FileObject, await client.upload(text, "notes.md"))).id;

test("a file that is removed while it is added again is ingested again, and not listed without passages", async () => {
  await using running = await runningDocuments();
  const { client, app } = running;
  const file = await upload(running, "llamas hum");
  const store = await client.store({ file_ids: [file] });
  const path = `/vector_stores/${store.id}/files`;
  const isCompleted = async (): Promise<boolean> =>
    (await (await client.send("GET", `${path}/${file}`)).text()).includes('"completed"');
  await waitFor("the file", isCompleted);
  const { registry } = app;
  const { putStoreFiles } = registry;
  let isRemoved = false;
  // The removal comes between what is known of the file and what is written of it.
  registry.putStoreFiles = async (...args) => {
    registry.putStoreFiles = putStoreFiles;
    isRemoved = true;
    expect((await client.send("DELETE", `${path}/${file}`)).status).toBe(200);
    return await putStoreFiles(...args);
  };
  expect((await client.send("POST", path, { file_id: file })).status).toBe(200);
  expect(isRemoved).toBe(true);
  await waitFor("the file", isCompleted);
  const content = await client.send("GET", `${path}/${file}/content`);
  expect(await content.json()).toMatchObject({ data: [{ type: "text", text: "llamas hum" }] });
});

test.each(["files", "vector_stores"])(
  "nothing is left of a file that is added while %s lose it",
  async (kind) => {
    await using running = await runningDocuments();
    const { client, app } = running;
    const file = await upload(running, "llamas hum");
    const { id: store } = await client.store();
    const { registry } = app;
    const { putStoreFiles } = registry;
    registry.putStoreFiles = async (...args) => {
      registry.putStoreFiles = putStoreFiles;
      const path = `/${kind}/${kind === "files" ? file : store}`;
      expect((await client.send("DELETE", path)).status).toBe(200);
      return await putStoreFiles(...args);
    };
    const refused = await client.send("POST", `/vector_stores/${store}/files`, { file_id: file });
    expect(refused.status).toBe(404);
    expect(await registry.inStore(store, [file])).toEqual([]);
  },
);

test("a deletion that is done is not done again to what was stored since", async () => {
  await using running = await runningDocuments();
  const { client, app } = running;
  const file = await client.taken("vs_default", "llamas hum");
  const { registry } = app;
  const { removals } = registry;
  const [stored] = await app.repository.documents();
  let lists = 0;
  // A list from before another request finished the deletion.
  registry.removals = async () => {
    if (lists++ > 0) return await removals();
    return [{ collection: "default", document: stored?.name }];
  };
  await waitFor("the list to be worked off", async () => {
    await client.taken("vs_default", `roses bloom ${lists}`);
    return lists > 1;
  });
  const names = (await app.repository.documents()).map(({ name }) => name);
  expect(names.filter((name) => name.startsWith(file.id))).toEqual([stored?.name ?? ""]);
});

test("what is deleted while the collections are away is not back with them, and nothing is stored in their place", async () => {
  await using folder = await tempDir();
  const options = { documents: { folder: folder.path } };
  const collections = join(folder.path, "collections");
  let [kept, deleted, first, second, third] = ["", "", "", "", ""];
  {
    await using running = await runningDocuments(options);
    const { client } = running;
    [kept, deleted] = [(await client.store()).id, (await client.store()).id];
    [first, second] = [
      (await client.taken(kept, "llamas")).id,
      (await client.taken(kept, "bees")).id,
    ];
    await client.taken(deleted, "llamas");
    third = await upload(running, "cats");
  }
  await rename(collections, `${collections}.away`);
  {
    await using running = await runningDocuments(options);
    const { client, app } = running;
    expect((await client.send("DELETE", `/vector_stores/${deleted}`)).status).toBe(200);
    expect((await client.send("DELETE", `/vector_stores/${kept}/files/${second}`)).status).toBe(
      200,
    );
    await client.send("POST", `/vector_stores/${kept}/files`, { file_id: third });
    await waitFor("the reason", async () => {
      const { last_error: reason } = await client.getFile(kept, third);
      return reason?.message.includes("are away") === true;
    });
    // One that never held anything is not waited for.
    const { id: empty } = await client.store();
    await client.send("DELETE", `/vector_stores/${empty}`);
    expect((await app.registry.removals()).map(({ collection }) => collection).sort()).toEqual(
      [kept, deleted].sort(),
    );
  }
  expect(await readdir(collections).catch(() => [])).toEqual([]);
  await rm(collections, { recursive: true, force: true });
  await rename(`${collections}.away`, collections);
  await using running = await runningDocuments(options);
  const { client } = running;
  await client.settled(kept, third);
  await waitFor(
    "the deletion",
    async () => !(await readdir(collections)).includes(`${deleted}.sqlite`),
  );
  const found = await client.search(kept, "llamas bees cats");
  expect(found.map(({ file_id: id }) => id).sort()).toEqual([first, third].sort());
  expect((await client.send("GET", `/vector_stores/${deleted}`)).status).toBe(404);
});

test.each(["/files", "/vector_stores/vs_default/files"])(
  "what is deleted with %s while the node has another collection in place of its own is not back with it",
  async (path) => {
    await using folder = await tempDir();
    const options = { documents: { folder: folder.path } };
    let [kept, deleted] = ["", ""];
    let away: EmbeddedPassage[] = [];
    {
      await using running = await runningDocuments(options);
      kept = (await running.client.taken("vs_default", "llamas")).id;
      deleted = (await running.client.taken("vs_default", "bees")).id;
      away = await Array.fromAsync(running.app.repository.passages());
    }
    {
      await using running = await runningDocuments(options);
      expect((await running.client.send("DELETE", `${path}/${deleted}`)).status).toBe(200);
      await running.client.settled("vs_default", kept);
    }
    await using running = await runningDocuments(options);
    const { client, app } = running;
    await app.repository.upsert(away);
    const isFound = async (id: string) =>
      (await client.search("vs_default", "llamas bees")).some(({ file_id }) => file_id === id);
    await waitFor("the other one", () => isFound(kept));
    expect(await isFound(deleted)).toBe(false);
    const listed = (await client.files("vs_default")).data.map(({ id }) => id);
    expect(listed).toEqual([kept]);
    expect((await client.send("GET", `/vector_stores/vs_default/files/${deleted}`)).status).toBe(
      404,
    );
    if (path === "/files") return;
    await client.add("vs_default", { file_id: deleted });
    await client.settled("vs_default", deleted);
    expect(await isFound(deleted)).toBe(true);
  },
);

test("a collection that is older than the registry does not bring back what was removed since", async () => {
  await using folder = await tempDir();
  const { log, lines } = recordingLog();
  const options = { documents: { folder: folder.path, log } };
  const collections = join(folder.path, "collections");
  let [store, kept] = ["", ""];
  {
    await using running = await runningDocuments(options);
    const { client } = running;
    store = (await client.store()).id;
    kept = (await client.taken(store, "llamas")).id;
    const removed = await client.taken(store, "bees");
    await running.app.documents[Symbol.asyncDispose]();
    await cp(collections, `${collections}.older`, { recursive: true });
    expect((await client.send("DELETE", `/files/${removed.id}`)).status).toBe(200);
  }
  await rm(collections, { recursive: true });
  await rename(`${collections}.older`, collections);
  await using running = await runningDocuments(options);
  const found = await running.client.search(store, "llamas bees");
  expect(found.map(({ file_id: id }) => id)).toEqual([kept]);
  expect(lines.filter(({ level }) => level === "warn")).toMatchObject([
    { message: expect.stringContaining("left out"), fields: { store, documents: 1 } },
  ]);
});

test("bytes of a file whose deletion was cut short are deleted at the next start", async () => {
  await using folder = await tempDir();
  const options = { documents: { folder: folder.path } };
  const names = async (...path: string[]): Promise<string[]> =>
    await readdir(join(folder.path, "files", ...path)).catch((): string[] => []);
  {
    await using running = await runningDocuments(options);
    const file = await upload(running, "llamas hum");
    // As a crash leaves it between the record and the bytes.
    await running.app.registry.removeFile(file);
    expect(await names()).toEqual([file]);
  }
  await using _ = await runningDocuments(options);
  await waitFor("the bytes to go", async () => (await names()).length === 0);
  expect(await names("orphaned")).toEqual([]);
});

test("files are ingested once the lock can be had, where it could not at the start", async () => {
  const { log, lines } = recordingLog();
  let tries = 0;
  const owns = (): boolean => {
    if (tries++ === 0) throw new NodeError("unavailable", "The disk can only be read.");
    return true;
  };
  await using running = await runningDocuments({ documents: { owns, log } });
  const { id } = await running.client.store();
  expect(await running.client.taken(id, "llamas hum")).toMatchObject({ status: "completed" });
  expect(lines).toContainEqual(
    expect.objectContaining({
      level: "error",
      fields: { reason: "The disk can only be read." },
    }),
  );
});
