/** Where the models in the folder came from: noted beside each, so that the hub need not be asked again. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { madeFromSuffix } from "../../core/quantization.ts";
import { partsOf } from "../../core/split-model.ts";
import { sizeOf } from "../file-size.ts";

const originSuffix = ".origin.json";
const Origin = T.Object({ source: T.String() });

/** What follows an address's path may be a key: it changes, and is not for others to read. */
export const withoutKey = (source: string): string =>
  /^https?:/.test(source) ? source.replace(/[?#].*$/, "") : source;

export async function noteOrigin(path: string, source: string): Promise<void> {
  await writeFile(`${path}${originSuffix}`, JSON.stringify({ source: withoutKey(source) }));
}

/** The model that a source brought, where it did: the hub need not be asked again. */
export async function findFetched(source: string, folder: string): Promise<string | undefined> {
  const named = withoutKey(source);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith(originSuffix) || (await originOf(join(folder, name))) !== named) continue;
    const file = basename(name, originSuffix);
    if ((await missingOf(partsOf(file), folder)).length === 0) return join(folder, file);
  }
  return undefined;
}

async function originOf(path: string): Promise<string | undefined> {
  try {
    const origin: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(Origin, origin) ? origin.source : undefined;
  } catch {
    return undefined; // removed meanwhile, or half written
  }
}

/** Those of a model's files that are not there. */
export async function missingOf(files: readonly string[], folder: string): Promise<string[]> {
  const sizes = await Promise.all(files.map((file) => sizeOf(join(folder, file))));
  return files.filter((_, at) => sizes[at] === undefined);
}

/** Everything that belongs to a model's file in the folder, the rests of downloads included. */
export const filesBeside = (file: string): string[] => [
  `${file}${originSuffix}`,
  `${file}.part`,
  `${file}.part.json`,
  `${file}.lock`,
  `${file}${madeFromSuffix}`,
];
