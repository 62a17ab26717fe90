/** The headers of all files of a model, and whether the files are whole. */
import { stat } from "node:fs/promises";
import { GgmlType } from "node-llama-cpp";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { missingParts, partsOf } from "../../core/models/model-files.ts";
import { type GgufHeader, type GgufTensor, readGgufHeader } from "./header.ts";

export interface ModelPart extends GgufHeader {
  file: string;
  bytes: number;
}

/** The first one first; of a model in several files, any of them may be named. */
export async function readModelParts(path: string): Promise<[ModelPart, ...ModelPart[]]> {
  const files = partsOf(path);
  const sizes = await Promise.all(files.map(sizeOf));
  const missing = files.filter((_, at) => sizes[at] === undefined);
  if (missing.length > 0) throw new Error(missingParts(missing, files.length));
  const [first = path, ...others] = files;
  const read = async (file: string): Promise<ModelPart> => ({
    file,
    bytes: (await sizeOf(file)) ?? 0,
    ...(await readGgufHeader(file)),
  });
  const parts: [ModelPart, ...ModelPart[]] = [await read(first)];
  checkCount(parts[0], files.length);
  // One after the other, since each header may take as much memory as the limit allows.
  for (const file of others) parts.push(await read(file));
  return parts;
}

/** Refuses a file with a malformed header before llama.cpp reads it, which has fewer checks. */
export async function checkModelFile(path: string, model: string): Promise<void> {
  await readModelParts(path).catch((cause: unknown) => {
    const message = `The model '${model}' cannot be loaded: ${reasonOf(cause)}`;
    throw new NodeError("unavailable", message, { cause });
  });
}

export const unreadable = (path: string, cause: unknown): NodeError =>
  new NodeError(
    "unavailable",
    `The model file '${path}' cannot be read: ${reasonOf(cause)}. It must be a whole GGUF file.`,
    { cause },
  );

function checkCount({ metadata }: ModelPart, files: number): void {
  const said = metadata.get("split.count");
  if (typeof said !== "number" || said <= 1 || said === files) return;
  throw new Error(
    `it is a part of a model in ${said} files; give them their names (…-00001-of-${String(said).padStart(5, "0")}.gguf) and name one of them`,
  );
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

/** Of each tensor type: how many values make a block, and how many bytes it takes. */
const blocks: Readonly<Record<number, readonly [values: number, bytes: number]>> = {
  [GgmlType.F64]: [1, 8],
  [GgmlType.F32]: [1, 4],
  [GgmlType.F16]: [1, 2],
  [GgmlType.BF16]: [1, 2],
  [GgmlType.I8]: [1, 1],
  [GgmlType.I16]: [1, 2],
  [GgmlType.I32]: [1, 4],
  [GgmlType.I64]: [1, 8],
  [GgmlType.Q4_0]: [32, 18],
  [GgmlType.Q4_1]: [32, 20],
  [GgmlType.Q5_0]: [32, 22],
  [GgmlType.Q5_1]: [32, 24],
  [GgmlType.Q8_0]: [32, 34],
  [GgmlType.IQ4_NL]: [32, 18],
  [GgmlType.MXFP4]: [32, 17],
  [GgmlType.Q2_K]: [256, 84],
  [GgmlType.Q3_K]: [256, 110],
  [GgmlType.Q4_K]: [256, 144],
  [GgmlType.Q5_K]: [256, 176],
  [GgmlType.Q6_K]: [256, 210],
  [GgmlType.IQ1_S]: [256, 50],
  [GgmlType.IQ1_M]: [256, 56],
  [GgmlType.IQ2_XXS]: [256, 66],
  [GgmlType.IQ2_XS]: [256, 74],
  [GgmlType.IQ2_S]: [256, 82],
  [GgmlType.IQ3_XXS]: [256, 98],
  [GgmlType.IQ3_S]: [256, 110],
  [GgmlType.IQ4_XS]: [256, 136],
  [GgmlType.TQ1_0]: [256, 54],
  [GgmlType.TQ2_0]: [256, 66],
};

/** How many bytes are missing from all files together; 0 where they are whole. */
export async function missingBytes(path: string): Promise<number> {
  const parts = await readModelParts(path);
  return parts.map(missingOf).reduce((sum, bytes) => sum + bytes, 0);
}

function missingOf({ tensors, dataStart, bytes }: ModelPart): number {
  const end = tensors.reduce((most, tensor) => Math.max(most, endOf(tensor)), 0);
  return Math.max(0, dataStart + end - bytes);
}

/** A tensor of a type that is not known here counts as one byte: the file must reach to where it begins. */
function endOf({ offset, values, type }: GgufTensor): number {
  const [perBlock, bytes] = blocks[type] ?? [values, 1];
  return offset + (values / perBlock) * bytes;
}
