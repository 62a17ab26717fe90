import { expect, test } from "bun:test";
import { join } from "node:path";
import { OwnFile } from "../../../src/store/database.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("a file that can only be read is not said to be unreadable", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "notes.sqlite");
  using file = new OwnFile({
    path,
    called: "The notes",
    advice: "restore them",
    tables: { version: 1, sql: "create table notes (note text)" },
  });
  file.write((database) => database.run("insert into notes values ('one')"));
  const read = () =>
    file.read((database) => {
      database.run("pragma query_only = on");
      database.run("delete from notes");
    }, undefined);
  expect(read).toThrow("The notes cannot be used: it can only be read. Give this user the right");
});
