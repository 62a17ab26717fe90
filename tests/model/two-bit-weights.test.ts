import { dlopen, FFIType, ptr } from "bun:ffi";
import { expect, test } from "bun:test";
import { baseLibrary, findLibrary } from "../../src/engine/quantization/quantizer.ts";
import { readSignedMagnitudes, toFourBits } from "../../src/engine/quantization/two-bit-weights.ts";

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
