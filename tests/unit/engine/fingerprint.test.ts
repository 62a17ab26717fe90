import { describe, expect, test } from "bun:test";
import { copyFile, open, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fingerprint, weightsDigest } from "../../../src/engine/fingerprint.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { neutralSettings } from "../../support/tiny-engines.ts";

const parts = {
  weights: "abc",
  engine: "llama.cpp v1",
  settings: neutralSettings,
  template: "auto",
};

describe("a fingerprint", () => {
  test("is fp_ and hexadecimal digits", () => {
    expect(fingerprint(parts)).toMatch(/^fp_[0-9a-f]+$/);
  });

  test("is the same for the same things", () => {
    expect(fingerprint(structuredClone(parts))).toBe(fingerprint(parts));
  });

  test("is another for other weights, another engine or another template", () => {
    const all = [
      parts,
      { ...parts, weights: "abd" },
      { ...parts, engine: "llama.cpp v2" },
      { ...parts, template: "chatml" },
    ].map(fingerprint);
    expect(new Set(all).size).toBe(all.length);
  });

  test.each(Object.entries(neutralSettings))("is another for another setting: %s", (key, value) => {
    const changed = typeof value === "number" ? value + 0.5 : `${value}-other`;
    const settings = { ...neutralSettings, [key]: changed };
    expect(fingerprint({ ...parts, settings })).not.toBe(fingerprint(parts));
  });
});

describe("the digest of weights", () => {
  test("is the same for the same content elsewhere and later", async () => {
    await using folder = await tempDir();
    const [here, there] = [join(folder.path, "a.gguf"), join(folder.path, "b.gguf")];
    await writeFile(here, "weights");
    await copyFile(here, there);
    await utimes(there, new Date(0), new Date(0));
    expect(await weightsDigest(there)).toBe(await weightsDigest(here));
  });

  test("is another for another byte at the start, in the middle or at the end", async () => {
    await using folder = await tempDir();
    const digests: string[] = [];
    for (const changed of [undefined, 0, 100_000, 199_999]) {
      const bytes = new Uint8Array(200_000);
      if (changed !== undefined) bytes[changed] = 1;
      const path = join(folder.path, `${changed}.gguf`);
      await writeFile(path, bytes);
      digests.push(await weightsDigest(path));
    }
    expect(new Set(digests).size).toBe(4);
  });

  test("is another for a longer file of the same samples", async () => {
    await using folder = await tempDir();
    const digests: string[] = [];
    for (const size of [0, 1, 50_000_000, 50_000_064]) {
      const path = join(folder.path, `${size}.gguf`);
      await using file = await open(path, "w");
      await file.truncate(size);
      digests.push(await weightsDigest(path));
    }
    expect(new Set(digests).size).toBe(4);
  });

  test("sees what differs all over in a file that is read only in part", async () => {
    await using folder = await tempDir();
    const digests: string[] = [];
    for (const value of [1, 2]) {
      const path = join(folder.path, `${value}.gguf`);
      const bytes = new Uint8Array(8 << 20).fill(value, 1 << 20); // the first part is the same
      await writeFile(path, bytes);
      digests.push(await weightsDigest(path));
    }
    expect(digests[0]).not.toBe(digests[1]);
  });
});

describe("the digest of a model in several files", () => {
  const nameOf = (part: number) => `m-0000${part}-of-00003.gguf`;

  async function saved(folder: string, contents: readonly string[]): Promise<string> {
    for (const [at, content] of contents.entries()) {
      await writeFile(join(folder, nameOf(at + 1)), content);
    }
    return join(folder, nameOf(1));
  }

  test("is another for another later part, though the first is the same", async () => {
    await using folder = await tempDir();
    const digests: string[] = [];
    for (const last of ["weights", "others!", "weights and more"]) {
      digests.push(await weightsDigest(await saved(folder.path, ["facts only", "w", last])));
    }
    expect(new Set(digests).size).toBe(3);
  });

  test("is the same whichever part names it, and another where parts change places", async () => {
    await using folder = await tempDir();
    const first = await weightsDigest(await saved(folder.path, ["facts", "one", "two"]));
    expect(await weightsDigest(join(folder.path, nameOf(3)))).toBe(first);
    expect(await weightsDigest(await saved(folder.path, ["facts", "two", "one"]))).not.toBe(first);
  });

  test.each([1, 2, 3])("is refused with the name of part %i where it is missing", async (part) => {
    await using folder = await tempDir();
    const path = await saved(folder.path, ["facts", "one", "two"]);
    await rm(join(folder.path, nameOf(part)));
    await expect(weightsDigest(path)).rejects.toThrow(nameOf(part));
  });

  test("of one file is what collections remember of it", async () => {
    await using folder = await tempDir();
    for (const name of ["m.gguf", "m-00001-of-00001.gguf"]) {
      const path = join(folder.path, name);
      await writeFile(path, "weights");
      expect(await weightsDigest(path)).toBe(
        new Bun.CryptoHasher("sha256").update("7").update("weights").digest("hex"),
      );
    }
  });
});
