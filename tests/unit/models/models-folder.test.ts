import { expect, test } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { removeModel } from "../../../src/models/models-folder.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("a model is removed without another of the user's that is called as a newer version would be", async () => {
  await using folder = await tempDir();
  for (const file of ["notes.gguf", "next_notes.gguf"])
    await writeFile(join(folder.path, file), file);
  expect(await removeModel(folder.path, "notes.gguf")).toBe("notes.gguf".length);
  expect(await readdir(folder.path)).toEqual(["next_notes.gguf"]);
});
