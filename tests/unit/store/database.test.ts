import { expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OwnFile } from "../../../src/store/own-file.ts";
import { openDatabase } from "../../../src/store/sqlite/collection-file.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("a file that can only be read is not said to be unreadable", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "notes.sqlite");
  using file = notesIn(path);
  file.write((database) => database.run("insert into notes values ('one')"));
  const read = () =>
    file.read((database) => {
      database.run("pragma query_only = on");
      database.run("delete from notes");
    }, undefined);
  expect(read).toThrow("The notes cannot be used: it can only be read. Give this user the right");
});

test.each([
  ["a file of the node", (path: string) => notesIn(path).write(() => {})],
  [
    "a collection",
    (path: string) =>
      openDatabase("notes", path, {
        dimension: 3,
        embedding: { model: "m", fingerprint: "f", queryPrefix: "", documentPrefix: "" },
      }),
  ],
])("the log of %s that was moved away is not deleted", async (_, open) => {
  await using folder = await tempDir();
  const killed = join(folder.path, "killed.sqlite");
  using file = notesIn(killed);
  file.write((database) => database.run("insert into notes values ('one')"));
  const path = join(folder.path, "notes.sqlite");
  copyFileSync(`${killed}-wal`, `${path}-wal`);
  const log = readFileSync(`${path}-wal`);

  expect(() => open(path)).toThrow(
    "notes.sqlite is missing, and notes.sqlite-wal still has changes that belong to it. Move it back beside them, or move notes.sqlite-wal away too",
  );
  expect(readFileSync(`${path}-wal`).equals(log)).toBe(true);

  copyFileSync(killed, path);
  using back = notesIn(path);
  expect(back.all("select note from notes")).toEqual([{ note: "one" }]);
});

const notesIn = (path: string): OwnFile =>
  new OwnFile({
    path,
    called: "The notes",
    advice: "restore them",
    tables: { version: 1, sql: "create table notes (note text)" },
  });
