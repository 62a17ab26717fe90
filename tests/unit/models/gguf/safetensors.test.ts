import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SafetensorsFile } from "../../../../src/models/gguf/safetensors.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const header = JSON.stringify({
  __metadata__: { format: "pt" },
  full: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
  half: { dtype: "F16", shape: [2], data_offsets: [8, 12] },
  brain: { dtype: "BF16", shape: [2], data_offsets: [12, 16] },
  beyond: { dtype: "F32", shape: [100], data_offsets: [0, 400] },
});

async function withFile(use: (file: SafetensorsFile) => Promise<void>): Promise<void> {
  await using folder = await tempDir();
  const path = join(folder.path, "model.safetensors");
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(header.length), true);
  const data = [Float32Array.of(0.1, -2), Float16Array.of(0.5, 3), new Uint8Array(4)];
  const bytes = data.map(({ buffer }) => new Uint8Array(buffer));
  await writeFile(path, Buffer.concat([size, Buffer.from(header), ...bytes]));
  const file = await SafetensorsFile.open(path);
  await use(file);
}

test("tensors are read in full and in half precision", () =>
  withFile(async (file) => {
    expect(await file.values("full")).toEqual(Float32Array.of(0.1, -2));
    expect(await file.values("half")).toEqual(Float32Array.of(0.5, 3));
    expect(file.entry("half").shape).toEqual([2]);
  }));

test("what cannot be read is named", () =>
  withFile(async (file) => {
    await expect(file.values("brain")).rejects.toThrow("'brain' is stored as BF16");
    await expect(file.values("beyond")).rejects.toThrow("shorter than its header says");
    expect(() => file.entry("nobody")).toThrow("no tensor 'nobody'");
    expect(() => file.entry("__metadata__")).toThrow("no tensor '__metadata__'");
  }));

test.each([2n ** 62n, 2n ** 33n, 100n])(
  "a header of %s bytes in a file of 8 takes no memory",
  async (length) => {
    await using folder = await tempDir();
    const path = join(folder.path, "model.safetensors");
    const size = new Uint8Array(8);
    new DataView(size.buffer).setBigUint64(0, length, true);
    await writeFile(path, size);
    await expect(SafetensorsFile.open(path)).rejects.toThrow("shorter than its header says");
  },
);
