/** Deletions that run beside ingestion and other requests. */
import { expect, test } from "bun:test";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runningDocuments } from "../support/running-documents.ts";
import { waitFor } from "../support/wait-for.ts";

test("a file that is deleted while it is ingested is not found afterwards, also if it takes long", async () => {
  await using running = await runningDocuments();
  const { app, client } = running;
  const embedding = Promise.withResolvers<void>();
  const deleting = Promise.withResolvers<void>();
  let embeds = 0;
  app.embedding.line = async () => {
    embeds++;
    await embedding.promise;
  };
  const removed = app.registry.removed.bind(app.registry);
  // As on a disk that takes long to delete the file's bytes.
  app.registry.removed = async (removal) => {
    if (removal.collection === "") await deleting.promise;
    await removed(removal);
  };
  // Whose passages are found also if no file is known to have them.
  const store = "vs_default";
  const file = await client.file("llamas hum");
  await client.add(store, { file_id: file });
  await waitFor("the file to be embedded", () => embeds > 0);
  const deletion = client.send("DELETE", `/files/${file}`);
  await waitFor("it to be unlisted", async () => (await app.registry.removals()).length > 0);
  let looks = 0;
  const outlines = app.registry.outlines.bind(app.registry);
  app.registry.outlines = async (...args) => {
    looks++;
    return await outlines(...args);
  };
  await client.add(store, { file_id: await client.file("alpacas do not") });
  await waitFor("what is to be deleted to be looked at", () => looks > 0);
  embedding.resolve();
  await waitFor("its passage to be stored", async () => (await app.repository.count()) > 0);
  deleting.resolve();
  expect((await deletion).status).toBe(200);
  expect(JSON.stringify(await client.search(store, "llamas"))).not.toContain("llamas hum");
});

test("a vector store that is used while others that have expired are emptied is not emptied with them", async () => {
  const hour = 3_600_000;
  let now = new Date("2026-11-15T12:00:00Z");
  const pass = (hours: number): void => {
    now = new Date(now.getTime() + hours * hour);
  };
  await using running = await runningDocuments({ documents: { now: () => now } });
  const { app, client } = running;
  const emptying = Promise.withResolvers<void>();
  const expireStore = app.registry.expireStore.bind(app.registry);
  const emptied: string[] = [];
  app.registry.expireStore = async (id) => {
    emptied.push(id);
    await emptying.promise;
    await expireStore(id);
  };
  const expires_after = { anchor: "last_active_at", days: 1 };
  const { id: old } = await client.store({ expires_after });
  pass(2);
  const { id: used } = await client.store({ expires_after });
  await client.taken(used, "llamas hum");
  pass(23);
  await client.taken("vs_default", "alpacas do not");
  await waitFor("the first to be emptied", () => emptied.length > 0);
  expect(emptied).toEqual([old]);
  expect(await client.search(used, "llamas")).not.toEqual([]);
  pass(2);
  emptying.resolve();
  await client.taken(used, "guanacos do");
  expect(emptied).toEqual([old]);
  expect(await client.getStore(used)).toMatchObject({ status: "completed" });
});

test("passages are deleted beside more of a collection that cannot be opened than are looked at together", async () => {
  await using running = await runningDocuments();
  const { app, client, place } = running;
  const { id } = await client.store();
  const file = await client.taken(id, "llamas hum");
  await writeFile(join(place, "collections", "damaged.sqlite"), "no database".repeat(100));
  for (let at = 0; at < 1001; at++) {
    await app.registry.addRemoval({ collection: "damaged", document: `${at}.md` });
  }
  // As a node leaves it that is stopped before it could delete them.
  await app.registry.removeStoreFile(id, file.id);
  await waitFor("it to be done", async () => {
    await client.taken("vs_default", "bees buzz");
    return !(await app.registry.isRemoved({ collection: id, document: `${file.id}/notes.md` }));
  });
  expect(await app.registry.removals()).toHaveLength(1000);
});

test("all files that have expired are deleted, however many are", async () => {
  let now = new Date("2026-11-15T12:00:00Z");
  await using running = await runningDocuments({ documents: { now: () => now } });
  const { app, client } = running;
  const [made] = await app.registry.findFiles([await client.file("llamas hum")]);
  if (made === undefined) throw new Error("The file is not there.");
  const expiresAt = new Date(now.getTime() + 1000);
  for (let at = 0; at < 250; at++) {
    const id = `file-${at.toString(16).padStart(24, "0")}`;
    await app.registry.addFile({ ...made, id, expiresAt });
  }
  await client.file("alpacas do not");
  const left = async () => (await app.registry.fileUsage()).files;
  let rounds = 0;
  const outlines = app.registry.outlines.bind(app.registry);
  app.registry.outlines = async (...args) => {
    if ((await left()) > 3) rounds++;
    return await outlines(...args);
  };
  now = new Date(now.getTime() + 2000);
  await client.taken("vs_default", "guanacos do");
  await waitFor("only the others to be left", async () => {
    return rounds > 1 || (await left()) === 3;
  });
  // One may have begun before.
  expect(rounds).toBeLessThan(2);
});

test("all files that have expired leave the answers in one go, also where their bytes cannot be deleted", async () => {
  let now = new Date("2026-11-15T12:00:00Z");
  await using running = await runningDocuments({ documents: { now: () => now } });
  const { app, client, place } = running;
  const { id: store } = await client.store();
  const expiresAt = new Date(now.getTime() + 1000);
  for (let at = 0; at < 3; at++) {
    const { id } = await client.taken("vs_default", `llamas hum ${at}`);
    const [made] = await app.registry.findFiles([id]);
    if (made === undefined) throw new Error("The file is not there.");
    await app.registry.removeFile(id);
    await app.registry.addFile({ ...made, expiresAt });
  }
  await client.file("alpacas do not");
  await rename(join(place, "files"), join(place, "away"));
  let rounds = 0;
  const filesExpiredAt = app.registry.filesExpiredAt.bind(app.registry);
  app.registry.filesExpiredAt = async (at) => {
    const due = await filesExpiredAt(at);
    if (due.length > 0) rounds++;
    return due;
  };
  now = new Date(now.getTime() + 2000);
  // Has the queue look for what is due.
  await client.send("DELETE", `/vector_stores/${store}`);
  await waitFor("only the other to be left", async () => {
    return (await app.registry.fileUsage()).files === 1;
  });
  expect(rounds).toBe(1);
  expect(await app.registry.deletions()).toHaveLength(3);
});
