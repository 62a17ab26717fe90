import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readOnnx, readSafetensors, type Weights } from "../../../../src/models/gguf/weights.ts";
import { onnxBytes } from "../../../support/onnx-bytes.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const header = JSON.stringify({
  __metadata__: { format: "pt" },
  full: { dtype: "F32", shape: [2], data_offsets: [0, 8] },
  half: { dtype: "F16", shape: [2], data_offsets: [8, 12] },
  brain: { dtype: "BF16", shape: [2], data_offsets: [12, 16] },
  beyond: { dtype: "F32", shape: [100], data_offsets: [0, 400] },
});

async function withSafetensors(use: (file: Weights) => Promise<void>): Promise<void> {
  await using folder = await tempDir();
  const path = join(folder.path, "model.safetensors");
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(header.length), true);
  const data = [Float32Array.of(0.1, -2), Float16Array.of(0.5, 3), new Uint8Array(4)];
  const bytes = data.map(({ buffer }) => new Uint8Array(buffer));
  await writeFile(path, Buffer.concat([size, Buffer.from(header), ...bytes]));
  const file = await readSafetensors(path);
  await use(file);
}

test("tensors are read in full and in half precision", () =>
  withSafetensors(async (file) => {
    expect(await file.get("full")?.values()).toEqual(Float32Array.of(0.1, -2));
    expect(await file.get("half")?.values()).toEqual(Float32Array.of(0.5, 3));
    expect(file.get("half")?.shape).toEqual([2]);
  }));

test("what cannot be read is named", () =>
  withSafetensors(async (file) => {
    await expect(file.get("brain")?.values()).rejects.toThrow("'brain' is stored as BF16");
    await expect(file.get("beyond")?.values()).rejects.toThrow("shorter than its header says");
    expect(file.get("nobody")).toBeUndefined();
    expect(file.get("__metadata__")).toBeUndefined();
  }));

test.each([2n ** 62n, 2n ** 33n, 100n])(
  "a header of %s bytes in a file of 8 takes no memory",
  async (length) => {
    await using folder = await tempDir();
    const path = join(folder.path, "model.safetensors");
    const size = new Uint8Array(8);
    new DataView(size.buffer).setBigUint64(0, length, true);
    await writeFile(path, size);
    await expect(readSafetensors(path)).rejects.toThrow("shorter than its header says");
  },
);

const layer = "encoder.layer.0.output.dense";
const nodes = [
  { name: "/encoder/layer.0/Add", operation: "Add", inputs: ["x", `${layer}.bias`] },
  {
    name: "/encoder/layer.0/output/dense/MatMul",
    operation: "MatMul",
    inputs: ["x", "onnx::MatMul_7"],
  },
  { name: "/encoder/layer.0/MatMul", operation: "MatMul", inputs: ["a_output", "b_output"] },
];
const tensors = [
  { name: `${layer}.bias`, dims: [2], values: [1, 2] },
  { name: "onnx::MatMul_7", dims: [3, 2], values: [1, 2, 3, 4, 5, 6] },
  { name: "some.ids", dims: [1], values: [0, 0], type: 7 },
];

async function withFile(bytes: Uint8Array, use: (path: string) => Promise<void>): Promise<void> {
  await using folder = await tempDir();
  const path = join(folder.path, "model.onnx");
  await writeFile(path, bytes);
  await use(path);
}

describe("the weights in an ONNX file", () => {
  test("have their names, and those of layers lie as PyTorch has them", () =>
    withFile(onnxBytes(nodes, tensors), async (path) => {
      const file = await readOnnx(path);
      expect(file.get(`${layer}.bias`)?.shape).toEqual([2]);
      expect(await file.get(`${layer}.bias`)?.values()).toEqual(Float32Array.of(1, 2));
      expect(file.get(`${layer}.weight`)?.shape).toEqual([2, 3]);
      expect(await file.get(`${layer}.weight`)?.values()).toEqual(
        Float32Array.of(1, 3, 5, 2, 4, 6),
      );
      expect(file.has("onnx::MatMul_7")).toBe(false);
    }));

  test("are not read from a file that is cut off, or is none", async () => {
    const bytes = onnxBytes(nodes, tensors);
    for (const broken of [
      bytes.subarray(0, bytes.length - 3),
      Buffer.alloc(300, 255),
      bytes.subarray(40),
    ]) {
      await withFile(broken, async (path) => {
        expect(readOnnx(path)).rejects.toThrow(/cut off|no protobuf/);
      });
    }
  });

  test("are not read where a tensor has other bytes than its shape says", () =>
    withFile(onnxBytes([], [{ name: "a", dims: [1000, 1000], values: [1] }]), async (path) => {
      expect(readOnnx(path)).rejects.toThrow("'a' has other bytes than its shape says");
    }));

  test("are not walked along a shape that holds nothing", () =>
    withFile(
      onnxBytes(nodes, [{ name: "onnx::MatMul_7", dims: [2 ** 50, 0], values: [] }]),
      async (path) => {
        const file = await readOnnx(path);
        expect(await file.get(`${layer}.weight`)?.values()).toHaveLength(0);
      },
    ));

  test("do not make a reader take memory for a length that the file does not have", () =>
    withFile(Buffer.from([0x3a, 0xff, 0xff, 0xff, 0xff, 0x7f]), async (path) => {
      expect(readOnnx(path)).rejects.toThrow("cut off");
    }));
});
