import { expect, test } from "bun:test";
import { DataDirLock } from "../../../src/store/data-dir-lock.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("a lock that cannot be had says what is wrong, and what helps", async () => {
  await using folder = await tempDir();
  using lock = new DataDirLock(folder.path, "documents");
  expect(() => lock.take()).toThrow(
    "The documents of the data dir cannot be changed: it or its lock files beside it cannot be opened. Give this user the right to read and write the data dir, or mount its disk for writing.",
  );
});
