import { dlopen, FFIType, ptr } from "bun:ffi";
import { expect, test } from "bun:test";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { readGgufHeader } from "../../src/engine/gguf/header.ts";
import { baseLibrary, findLibrary, quantize } from "../../src/engine/quantization/quantizer.ts";
import { readSignedMagnitudes, toFourBits } from "../../src/engine/quantization/two-bit-weights.ts";
import { architecture, entry, header, text, types, u32, u64 } from "../support/gguf-bytes.ts";
import { tempDir } from "../support/temp-dir.ts";

test("weights of 2 bits say the same in 4 bits", async () => {
  const library = await findLibrary(baseLibrary);
  const decoder = { args: [FFIType.ptr, FFIType.ptr, FFIType.i64], returns: FFIType.void } as const;
  const { symbols } = dlopen(library, {
    dequantize_row_iq2_xxs: decoder,
    dequantize_row_q4_0: decoder,
  });
  const count = 64;
  const blocks = crypto.getRandomValues(new Uint8Array(count * 66));
  // Any bytes are weights, except for the scale in half precision.
  const scales = new DataView(blocks.buffer);
  for (let at = 0; at < count; at++) scales.setFloat16(at * 66, Math.random() - 0.5, true);
  const converted = toFourBits(blocks, readSignedMagnitudes(library));
  const [before, after] = [new Float32Array(count * 256), new Float32Array(count * 256)];
  symbols.dequantize_row_iq2_xxs(ptr(blocks), ptr(before), before.length);
  symbols.dequantize_row_q4_0(ptr(converted), ptr(after), after.length);
  let [error, size, largest] = [0, 0, 0];
  for (const [at, weight] of before.entries()) {
    const difference = Math.abs((after[at] ?? 0) - weight);
    if (weight !== 0) largest = Math.max(largest, difference / Math.abs(weight));
    error += difference ** 2;
    size += weight ** 2;
  }
  // A weight of 8 becomes 8.45; half precision adds a little.
  expect(largest).toBeLessThan(0.06);
  expect(Math.sqrt(error / size)).toBeLessThan(0.03);
});

test("a file of them becomes one of 4 bits, and other tensors stay as they are", async () => {
  await using folder = await tempDir();
  const [input, output] = [join(folder.path, "in.gguf"), join(folder.path, "out.gguf")];
  const tensor = (name: string, values: number, type: number, offset: number): Buffer =>
    Buffer.concat([text(name), u32(1), u64(values), u32(type), u64(offset)]);
  const head = header(
    { tensors: 2, keys: 3 },
    architecture,
    entry("general.name", types.text, text("general.file_type")),
    entry("general.file_type", types.u32, u32(19)),
    tensor("other", 3, 0, 352),
    tensor("weights", 5 * 256, 16, 0),
  );
  const data = Buffer.alloc(352 + 12, 7);
  const start = Math.ceil(head.length / 32) * 32;
  await Bun.write(input, Buffer.concat([head, Buffer.alloc(start - head.length), data]));
  await quantize(input, output, { type: "q4_0", threads: 1 });
  const made = await readGgufHeader(output);
  expect(made.metadata.get("general.file_type")).toBe(2);
  expect(made.metadata.get("general.name")).toBe("general.file_type");
  expect(made.tensors).toMatchObject([
    { values: 3, type: 0, offset: 736 },
    { values: 1280, type: 2, offset: 0 },
  ]);
  const bytes = await Bun.file(output).bytes();
  expect(bytes.subarray(start + 736, start + 748)).toEqual(data.subarray(352));
  const table = readSignedMagnitudes(await findLibrary(baseLibrary));
  const weights = toFourBits(data.subarray(0, 5 * 66), table);
  expect([...bytes.subarray(start, start + 720)]).toEqual([...weights]);
  await truncate(input, start + 100);
  await expect(quantize(input, output, { type: "q4_0", threads: 1 })).rejects.toThrow("cut off");
});
