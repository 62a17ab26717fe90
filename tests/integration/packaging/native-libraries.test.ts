import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PackedFile } from "../../../src/packaging/executable-contents.ts";
import { unpack } from "../../../src/packaging/native-libraries.ts";
import { type TempDir, tempDir } from "../../support/temp-dir.ts";

const user = process.getuid?.();
let source: TempDir;
let files: PackedFile[];

const sha256 = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

async function packedFiles(contents: Record<string, string>): Promise<PackedFile[]> {
  return await Promise.all(
    Object.entries(contents).map(async ([name, text]) => {
      const path = join(source.path, sha256(name + text));
      await writeFile(path, text);
      return { name, path, bytes: text.length, sha256: sha256(text) };
    }),
  );
}

beforeAll(async () => {
  source = await tempDir();
  files = await packedFiles({ "libs/one.so": "first", "two.node": "second" });
});
afterAll(() => source[Symbol.asyncDispose]());

const contents = async (folder: string): Promise<string[]> =>
  await Promise.all(files.map(({ name }) => readFile(join(folder, name), "utf8")));

describe("what the executable carries", () => {
  test("is written once, for its owner alone", async () => {
    await using cache = await tempDir();
    const folder = join(cache.path, "a", "b");
    const target = unpack({ files, folder, user });
    expect(await contents(target)).toEqual(["first", "second"]);
    for (const path of [target, join(target, "libs"), join(target, "two.node")]) {
      expect((await stat(path)).mode & 0o077).toBe(0);
    }
    const before = await stat(join(target, "two.node"));
    expect(unpack({ files, folder, user })).toBe(target);
    expect((await stat(join(target, "two.node"))).ino).toBe(before.ino);
    expect(await readdir(folder)).toHaveLength(1);
  });

  test.each<[string, (target: string) => Promise<void>]>([
    ["changed, at the same length", (target) => writeFile(join(target, "two.node"), "SECOND")],
    ["cut short", (target) => writeFile(join(target, "two.node"), "")],
    ["removed", async (target) => (await import("node:fs/promises")).rm(join(target, "two.node"))],
  ])("is written again where a file was %s", async (_, damage) => {
    await using cache = await tempDir();
    const target = unpack({ files, folder: cache.path, user });
    await damage(target);
    expect(unpack({ files, folder: cache.path, user })).toBe(target);
    expect(await contents(target)).toEqual(["first", "second"]);
    expect(await readdir(cache.path)).toHaveLength(1);
  });

  test("takes the place of another version's, and of starts that were cut off", async () => {
    await using cache = await tempDir();
    const older = unpack({
      files: await packedFiles({ "two.node": "older" }),
      folder: cache.path,
      user,
    });
    const cutOff = join(cache.path, "native-0123456789abcdef.some.part");
    const underWay = join(cache.path, "native-0123456789abcdef.other.part");
    await mkdir(cutOff);
    await mkdir(underWay);
    await writeFile(join(cache.path, "not-ours"), "kept");
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(cutOff, longAgo, longAgo);
    const target = unpack({ files, folder: cache.path, user });
    expect(target).not.toBe(older);
    expect((await readdir(cache.path)).sort()).toEqual(
      ["not-ours", underWay.split("/").at(-1) ?? "", target.split("/").at(-1) ?? ""].sort(),
    );
  });

  test("survives that several start at once", async () => {
    await using cache = await tempDir();
    const script = join(import.meta.dir, "..", "..", "support", "unpack-once.ts");
    const processes = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, script, cache.path, JSON.stringify(files)], {
        stdout: "pipe",
        stderr: "pipe",
      }),
    );
    const outputs = await Promise.all(
      processes.map(async ({ stdout, stderr, exited }) => [
        await exited,
        await new Response(stdout).text(),
        await new Response(stderr).text(),
      ]),
    );
    const [first] = outputs;
    expect(outputs).toEqual(Array.from({ length: 6 }, () => [0, first?.[1] ?? "", ""]));
    expect(await contents(String(first?.[1]))).toEqual(["first", "second"]);
    expect(await readdir(cache.path)).toHaveLength(1);
  });

  test("is a clear error where the folder is a file, or cannot be written", async () => {
    await using cache = await tempDir();
    const file = join(cache.path, "file");
    await writeFile(file, "");
    const message = /cannot be unpacked into .*below: .*PADDOCK_CACHE_DIR/;
    expect(() => unpack({ files, folder: join(file, "below"), user })).toThrow(message);
    if (user === 0) return; // root writes everywhere
    await chmod(cache.path, 0o500);
    expect(() => unpack({ files, folder: join(cache.path, "x"), user })).toThrow(
      /cannot be unpacked into .*: .*PADDOCK_CACHE_DIR/,
    );
    await chmod(cache.path, 0o700);
  });

  test("is not taken from a folder of another user", async () => {
    if (user === undefined) return;
    await using cache = await tempDir();
    unpack({ files, folder: cache.path, user });
    expect(() => unpack({ files, folder: cache.path, user: user + 1 })).toThrow(
      "it belongs to another user",
    );
  });
});
