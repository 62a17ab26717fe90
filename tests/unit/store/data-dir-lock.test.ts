import { expect, test } from "bun:test";
import { join } from "node:path";
import { DataDirLock } from "../../../src/store/data-dir-lock.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("a lock that cannot be had says what is wrong, and what helps", async () => {
  await using folder = await tempDir();
  using lock = new DataDirLock(folder.path, "documents");
  expect(() => lock.take()).toThrow(
    "The documents of the data dir cannot be changed: it or its lock files beside it cannot be opened. Give this user the right to read and write the data dir, or mount its disk for writing.",
  );
});

test("a lock file that is something else is named, with what helps", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.lock");
  await Bun.write(path, "not a lock ".repeat(1000));
  using lock = new DataDirLock(path, "documents");
  const why = "its lock file is damaged. Stop every node of the data dir, and delete";
  expect(() => lock.take()).toThrow(`${why} ${path}.`);
});
