/** The headers of all files of a model. */
import { stat } from "node:fs/promises";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { missingParts, partsOf } from "../../core/models/split-model.ts";
import { type GgufHeader, readGgufHeader } from "./header.ts";

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
