/** Writes a llama of billions of random weights in seconds: q8_0 blocks, copied out of one buffer of random ones. */
import type { FileHandle } from "node:fs/promises";
import { writeAtomically } from "../../src/models/files.ts";
import {
  blockSizes,
  encodeTensor,
  type Gguf,
  type Tensor,
  tensorBytes,
  writeGguf,
} from "../../src/models/gguf/write.ts";
import { randomBert } from "../../tests/support/random-bert.ts";
import { type LlamaShape, randomLlama, randomNumbers } from "../../tests/support/random-llama.ts";
import { makeWords, wordsOf32k } from "./bench-models.ts";
import { isThere } from "./peer-location.ts";

/** A prime, so that no two rows of a matrix come from the same place of the buffer. */
const blocks = 524_287;
const alignment = 32;

export type Shape = Pick<LlamaShape, "size" | "hidden" | "layers" | "heads">;

const random = { name: "random", type: "q8_0" } as const;

/** The file of the model, written if it is not there. */
export async function randomModel(path: string, shape: Shape): Promise<void> {
  const words = makeWords(wordsOf32k);
  await written(path, shape, () => randomLlama({ ...random, context: 4096, words, ...shape }));
}

/** The same of an embedding model, with as many pieces as BERT has. */
export async function randomEmbeddingModel(path: string, shape: Shape): Promise<void> {
  const pieces = makeWords(30_517).map((word) => word.replace(" ", "\u2581"));
  await written(path, shape, () =>
    randomBert({ ...random, context: 512, pieces, seed: 5, ...shape }),
  );
}

async function written(path: string, { size }: Shape, make: () => Gguf): Promise<void> {
  if (await isThere(path)) return;
  const gguf = make();
  const next = endlessBlocks(size);
  await writeAtomically(path, async (file) => {
    await writeHeader(file, gguf);
    for (const tensor of gguf.tensors) await writeTensor(file, tensor, next);
  });
}

class HeaderIsWritten extends Error {}

/** The writer asks for a tensor's values once all that stands before them is in the file. */
async function writeHeader(file: FileHandle, { metadata, tensors }: Gguf): Promise<void> {
  const values = (): never => {
    throw new HeaderIsWritten();
  };
  try {
    await writeGguf(file, { metadata, tensors: tensors.map((tensor) => ({ ...tensor, values })) });
  } catch (error) {
    if (!(error instanceof HeaderIsWritten)) throw error;
  }
}

async function writeTensor(
  file: FileHandle,
  { type, shape, values }: Tensor,
  next: (most: number) => Uint8Array,
): Promise<void> {
  const count = shape.reduce((product, size) => product * size);
  const size = tensorBytes(type, count);
  if (type === "q8_0") {
    for (let left = size; left > 0; ) {
      const bytes = next(left);
      await file.writeFile(bytes);
      left -= bytes.length;
    }
  } else {
    await file.writeFile(encodeTensor(type, await values()));
  }
  await file.writeFile(new Uint8Array((alignment - (size % alignment)) % alignment));
}

/** Gives at most so many bytes of the buffer, from where the last call ended; then from its start again. */
function endlessBlocks(size: number): (most: number) => Uint8Array {
  const bytes = new Uint8Array(blocks * blockSizes.q8_0.bytes);
  const view = new DataView(bytes.buffer);
  const random = randomNumbers(7);
  // As large as the weights of the tests' random models are.
  const scale = (0.3 * Math.sqrt(32 / size)) / 127;
  for (let at = 0; at < bytes.length; at += blockSizes.q8_0.bytes) {
    view.setFloat16(at, scale, true);
    for (let value = 0; value < blockSizes.q8_0.values; value++) {
      view.setInt8(at + 2 + value, Math.floor(random() * 255) - 127);
    }
  }
  let start = 0;
  return (most) => {
    const part = bytes.subarray(start, start + most);
    start = (start + part.length) % bytes.length;
    return part;
  };
}
