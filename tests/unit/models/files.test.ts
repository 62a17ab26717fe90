import { describe, expect, test } from "bun:test";
import { readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeAtomically } from "../../../src/models/files.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { canMakeDisks, smallDisk } from "../../support/small-disk.ts";
import { tempDir } from "../../support/temp-dir.ts";

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

describe("a file written atomically", () => {
  test("is not at its place until it is whole, and nothing else remains", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "new", "folder", "model.gguf");
    const during: string[][] = [];
    await writeAtomically(path, async (file) => {
      await file.writeFile("first, ");
      during.push(await readdir(join(folder.path, "new", "folder")));
      await file.writeFile("second");
    });
    expect(during).toEqual([[expect.stringMatching(/^model\.gguf\..+\.part$/)]]);
    expect(await readFile(path, "utf8")).toBe("first, second");
    expect((await stat(join(folder.path, "new"))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder.path, "new", "folder"))).toEqual(["model.gguf"]);
  });

  test("leaves nothing when its writer fails, and says why", async () => {
    await using folder = await tempDir();
    const failing = writeAtomically(join(folder.path, "model.gguf"), async (file) => {
      await file.writeFile("half");
      throw new Error("disk full");
    });
    await expect(failing).rejects.toThrow("disk full");
    expect(await readdir(folder.path)).toEqual([]);
  });

  test("leaves the one that was there when its writer fails", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "model.gguf");
    await writeFile(path, "old");
    const failing = writeAtomically(path, async (file) => {
      await file.writeFile("half");
      throw new Error("disk full");
    });
    await expect(failing).rejects.toThrow("disk full");
    expect(await readdir(folder.path)).toEqual(["model.gguf"]);
    expect(await readFile(path, "utf8")).toBe("old");
  });

  test("is one of the two whole ones when two write at once", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "model.gguf");
    const bothOpen = Promise.withResolvers<void>();
    let writers = 0;
    const write = (text: string): Promise<void> =>
      writeAtomically(path, async (file) => {
        writers++;
        if (writers === 2) bothOpen.resolve();
        await bothOpen.promise;
        await file.writeFile(text);
      });
    await Promise.all([write("a".repeat(1000)), write("b".repeat(2000))]);
    const text = await readFile(path, "utf8");
    expect(["a".repeat(1000), "b".repeat(2000)]).toContain(text);
    expect(await readdir(folder.path)).toEqual(["model.gguf"]);
  });
});

describe("what a writer left behind", () => {
  test("is removed once it is old; a living writer's and other files stay", async () => {
    await using folder = await tempDir();
    const dead = "model.gguf.1234.part";
    const others = ["model.gguf.5678.part", "other.gguf.1234.part", "model.gguf.notes"];
    for (const name of [dead, ...others]) {
      const path = join(folder.path, name);
      await writeFile(path, "x");
      const written = name.includes("5678") ? new Date() : hoursAgo(24);
      await utimes(path, written, written);
    }
    await writeAtomically(join(folder.path, "model.gguf"), (file) => file.writeFile("whole"));
    expect((await readdir(folder.path)).sort()).toEqual(["model.gguf", ...others].sort());
  });
});

test.skipIf(!(await canMakeDisks()))("a full disk is said, with what to do", async () => {
  await using disk = await smallDisk(1);
  const path = join(disk.path, "model.gguf");
  const writing = writeAtomically(path, (file) => file.writeFile(new Uint8Array(4e6)));
  expect(await rejectionOf(writing)).toMatchObject({
    kind: "unavailable",
    message: expect.stringMatching(/model\.gguf cannot be written: the disk is full. Free some/),
  });
  expect(await readdir(disk.path)).toEqual([]);
});
