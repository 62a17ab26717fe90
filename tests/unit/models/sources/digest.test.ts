import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf } from "../../../../src/models/sources/digest.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";

test("the digests of files that are checked at once are all stored", async () => {
  await using folder = await tempDir();
  const paths = Array.from({ length: 8 }, (_, at) => join(folder.path, `${at}.gguf`));
  for (const path of paths) await writeFile(path, path);
  const { signal } = new AbortController();
  const options = { folder: folder.path, progress: silentProgress, signal };
  await Promise.all(paths.map((path) => digestOf(path, options)));
  const stored = await Bun.file(join(folder.path, "digests.json")).json();
  expect(Object.keys(stored).sort()).toEqual(paths.sort());
});
