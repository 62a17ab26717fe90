import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
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

test("a lock whose file was moved away is not held any more once another process has the new one", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "documents.lock");
  using first = new DataDirLock(path, "documents");
  using second = new DataDirLock(path, "documents");
  expect([first.take(), second.take()]).toEqual([true, false]);
  await rename(path, `${path}.away`);
  expect([second.take(), first.take()]).toEqual([true, false]);
  await rm(path);
  expect([first.take(), second.take()]).toEqual([true, false]);
});

test("a data dir that was moved away is not made again", async () => {
  await using folder = await tempDir();
  const place = join(folder.path, "data");
  using lock = new DataDirLock(join(place, "documents.lock"), "documents");
  expect(lock.take()).toBe(true);
  await rename(place, `${place}-away`);
  for (let tries = 0; tries < 2; tries++) expect(() => lock.take()).toThrow("cannot be opened");
  expect(existsSync(place)).toBe(false);
  await rename(`${place}-away`, place);
  expect(lock.take()).toBe(true);
});
