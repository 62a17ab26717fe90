import { expect, test } from "bun:test";
import { copyFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import { missingBytes } from "../../src/engine/gguf/model-facts.ts";
import { rejectionOf } from "../support/rejection.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

test("a whole file lacks nothing, and one that is cut off what was cut", async () => {
  await using folder = await tempDir();
  const { chat, embedding } = await tinyModels();
  expect(await missingBytes(embedding)).toBe(0);
  const path = join(folder.path, "cut.gguf");
  await copyFile(chat, path);
  expect(await missingBytes(path)).toBe(0);
  await truncate(path, Bun.file(chat).size - 123);
  expect(await missingBytes(path)).toBe(123);
});

test("a header that is cut off is refused", async () => {
  await using folder = await tempDir();
  const { chat } = await tinyModels();
  const path = join(folder.path, "cut.gguf");
  await copyFile(chat, path);
  await truncate(path, 200);
  expect(await rejectionOf(missingBytes(path))).toEqual(new Error("its header is cut off"));
});
