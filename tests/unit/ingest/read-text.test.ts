import { describe, expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readPages, readTextFile } from "../../../src/ingest/read-text.ts";
import { tempDir } from "../../support/temp-dir.ts";

describe("a file to ingest", () => {
  test.each(["notes.md", "notes.markdown", "notes.txt", "NOTES.MD"])(
    "is read as a document of its path, or of the name it is given: %s",
    async (name) => {
      await using folder = await tempDir();
      const path = join(folder.path, name);
      await writeFile(path, "Grüße 🐎\n");
      expect(await readTextFile(path)).toEqual({ name: path, text: "Grüße 🐎\n" });
      expect(await readTextFile(path, "called")).toEqual({ name: "called", text: "Grüße 🐎\n" });
    },
  );

  test("loses the mark that some editors put before the text", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "notes.md");
    await writeFile(path, "\u{feff}# Title");
    expect((await readTextFile(path)).text).toBe("# Title");
  });

  test.each(["notes.pdf", "notes", "md"])("is refused where it is not text: %s", async (name) => {
    await expect(readTextFile(name)).rejects.toMatchObject({
      kind: "invalid_request",
      message: `${name}: only .md, .markdown, .txt files are read.`,
    });
  });

  test("is refused where it is not UTF-8", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "latin.txt");
    await writeFile(path, Uint8Array.of(0x47, 0x72, 0xfc, 0xdf, 0x65));
    expect(await readTextFile(path).catch((error: unknown) => error)).toMatchObject({
      kind: "invalid_request",
      message: `${path} cannot be read: it is not UTF-8 text.`,
    });
  });

  test("is refused by its name where it is not there", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "missing.md");
    expect(await readTextFile(path).catch((error: unknown) => error)).toMatchObject({
      kind: "invalid_request",
      message: expect.stringContaining(`${path} cannot be read: `),
    });
  });
});

describe("the pages of a folder", () => {
  test("are its Markdown files, not those of subfolders, in the order of their names", async () => {
    await using folder = await tempDir();
    await mkdir(join(folder.path, "deep", "er"), { recursive: true });
    await writeFile(join(folder.path, "b.md"), "b");
    await writeFile(join(folder.path, "a.md"), "a");
    await writeFile(join(folder.path, "deep", "er", "c.md"), "c");
    await writeFile(join(folder.path, "notes.txt"), "not a page");
    await writeFile(join(folder.path, "image.png"), Uint8Array.of(0xff));
    expect(await readPages(folder.path, "handbook")).toEqual([
      { name: join("handbook", "a.md"), text: "a" },
      { name: join("handbook", "b.md"), text: "b" },
    ]);
  });
});
