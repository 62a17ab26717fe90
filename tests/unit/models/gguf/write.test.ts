import { describe, expect, test } from "bun:test";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { readGgufFileInfo } from "node-llama-cpp";
import {
  encodeTensor,
  fitsBlocks,
  type Gguf,
  type Tensor,
  type TensorType,
  writeGguf,
} from "../../../../src/models/gguf/write.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const tensor = (name: string, shape: number[], type: TensorType, values: Float32Array): Tensor => ({
  name,
  shape,
  type,
  values: () => values,
});

const wave = (length: number, size = 1): Float32Array =>
  Float32Array.from({ length }, (_, index) => size * Math.sin(index * 1.7));

/** Writes the file, and reads it back with llama.cpp's own idea of the format. */
async function roundTrip(gguf: Gguf) {
  await using folder = await tempDir();
  const path = join(folder.path, "test.gguf");
  {
    await using file = await open(path, "w");
    await writeGguf(file, gguf);
  }
  const info = await readGgufFileInfo(path, { logWarnings: false });
  return { info, bytes: await readFile(path) };
}

describe("a GGUF file", () => {
  test("gives back every kind of metadata", async () => {
    const { info } = await roundTrip({
      metadata: {
        "general.architecture": { type: "string", value: "bert" },
        "general.name": { type: "string", value: "Grüße 🐎" },
        "bert.block_count": { type: "uint32", value: 4_294_967_295 },
        "bert.attention.layer_norm_epsilon": { type: "float32", value: 0.5 },
        "bert.attention.causal": { type: "bool", value: false },
        "bert.other": { type: "bool", value: true },
        "tokenizer.ggml.tokens": { type: "strings", value: ["", "▁ä", "b"] },
        "tokenizer.ggml.token_type": { type: "int32s", value: [-1, 0, 3] },
        "tokenizer.ggml.scores": { type: "float32s", value: [-0.25, 0, 1.5] },
      },
      tensors: [],
    });
    expect(info.version).toBe(3);
    expect<unknown>(info.metadata).toEqual({
      general: { architecture: "bert", name: "Grüße 🐎" },
      bert: {
        block_count: 4_294_967_295,
        attention: { layer_norm_epsilon: 0.5, causal: false },
        other: true,
      },
      tokenizer: {
        ggml: { tokens: ["", "▁ä", "b"], token_type: [-1, 0, 3], scores: [-0.25, 0, 1.5] },
      },
    });
  });

  test("gives back more metadata than one buffer holds", async () => {
    const tokens = Array.from({ length: 20_000 }, (_, index) => `token number ${index}`);
    const { info } = await roundTrip({
      metadata: {
        "general.architecture": { type: "string", value: "bert" },
        "tokenizer.ggml.tokens": { type: "strings", value: tokens },
      },
      tensors: [],
    });
    expect<unknown>(info.metadata.tokenizer.ggml.tokens).toEqual(tokens);
  });

  test("holds every tensor where its header says, each at a multiple of 32 bytes", async () => {
    const metadata: Gguf["metadata"] = {
      "general.architecture": { type: "string", value: "bert" },
    };
    const tensors = [
      tensor("odd", [3], "f32", Float32Array.of(1, -2, 0.5)),
      tensor("half", [5, 3], "f16", wave(15)),
      tensor("blocks", [32, 2], "q8_0", wave(64)),
      tensor("last", [2, 2, 2], "f32", wave(8)),
    ];
    const { info, bytes } = await roundTrip({ metadata, tensors });
    const found = info.tensorInfo ?? [];
    expect(
      found.map(({ name, dimensions, ggmlType }) => [name, dimensions, Number(ggmlType)]),
    ).toEqual([
      ["odd", [3], 0],
      ["half", [5, 3], 1],
      ["blocks", [32, 2], 8],
      ["last", [2, 2, 2], 0],
    ]);
    expect(found.map(({ offset }) => Number(offset))).toEqual([0, 32, 64, 160]);
    for (const [index, { fileOffset }] of found.entries()) {
      const { type, values } = tensors[index] ?? tensor("", [], "f32", new Float32Array());
      const encoded = encodeTensor(type, await values());
      const start = Number(fileOffset);
      expect(start % 32).toBe(0);
      expect(bytes.subarray(start, start + encoded.length)).toEqual(Buffer.from(encoded));
    }
    expect(bytes.length % 32).toBe(0);
  });

  test("is not written with a tensor whose values do not fill its shape", async () => {
    const tensors = [tensor("short", [4], "f32", wave(3))];
    await expect(roundTrip({ metadata: {}, tensors })).rejects.toThrow(
      "Tensor short has 3 values for its shape",
    );
  });
});

describe("the number formats", () => {
  test("keep f32 to the bit, even from the middle of a buffer", () => {
    const values = wave(8).subarray(3, 6);
    const bytes = encodeTensor("f32", values).slice();
    expect(new Float32Array(bytes.buffer)).toEqual(values.slice());
  });

  test("keep f16 to eleven bits", () => {
    const values = wave(100, 50);
    const decoded = new Float16Array(encodeTensor("f16", values).slice().buffer);
    for (const [index, value] of values.entries()) {
      expect(Math.abs((decoded[index] ?? Number.NaN) - value)).toBeLessThanOrEqual(
        Math.abs(value) * 2 ** -11,
      );
    }
  });

  test.each([1e-3, 1, 300])("keep q8_0 to half a step of each block's scale: %p", (size) => {
    const values = Float32Array.from([...wave(32, size), ...wave(32, size * 8)]);
    const decoded = decodeQ8(encodeTensor("q8_0", values));
    for (const [index, value] of values.entries()) {
      const block = values.subarray(index - (index % 32), index - (index % 32) + 32);
      const largest = Math.max(...block.map(Math.abs));
      // Half a step by rounding, and what the scale loses in f16.
      const bound = largest / 127 / 2 + largest * 2 ** -11 + 2 ** -19;
      expect(Math.abs((decoded[index] ?? Number.NaN) - value)).toBeLessThanOrEqual(bound);
    }
  });

  test("use the whole of a byte in q8_0", () => {
    const values = new Float32Array(32).fill(0.5);
    values.set([8, -8, 4]);
    const [largest, smallest, half, other] = new Int8Array(encodeTensor("q8_0", values).buffer, 2);
    expect([largest, smallest, half, other]).toEqual([127, -127, 64, 8]);
  });

  test("keep zeros in q8_0", () => {
    expect(decodeQ8(encodeTensor("q8_0", new Float32Array(32)))).toEqual(
      Array.from({ length: 32 }, () => 0),
    );
  });

  test("say which rows they can hold", () => {
    expect([fitsBlocks("q8_0", 64), fitsBlocks("q8_0", 33), fitsBlocks("f16", 33)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

function decodeQ8(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: number[] = [];
  for (let at = 0; at < bytes.length; at += 34) {
    const scale = view.getFloat16(at, true);
    for (let index = 0; index < 32; index++) values.push(scale * view.getInt8(at + 2 + index));
  }
  return values;
}
