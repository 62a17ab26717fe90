import { expect, test } from "bun:test";
import { join } from "node:path";
import { SqliteRepository } from "../../src/repository/sqlite/sqlite-repository.ts";
import { tempDir } from "../support/temp-dir.ts";
import { passageRepositoryContract } from "./passage-repository.ts";

passageRepositoryContract("SQLite", async () => {
  const folder = await tempDir();
  return {
    open: async () =>
      SqliteRepository.open({
        path: join(folder.path, "contract.sqlite"),
        collection: "contract",
        dimension: 3,
      }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
});

test("SQLite refuses a collection of another dimension, with what to do", async () => {
  await using folder = await tempDir();
  const path = join(folder.path, "c.sqlite");
  await SqliteRepository.open({ path, collection: "c", dimension: 3 })[Symbol.asyncDispose]();
  expect(() => SqliteRepository.open({ path, collection: "c", dimension: 4 })).toThrow(
    /with 3 dimensions; the configured one has 4\. .*remove .*c\.sqlite/,
  );
});
