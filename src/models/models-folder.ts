/** The folder of downloaded and assembled models: lists and removes them. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isLaterPart, partsOf } from "../core/models/model-files.ts";
import { sizeOf } from "./files.ts";
import { filesBeside } from "./sources/origin.ts";

export const modelsFolder = (dataDir: string): string => join(dataDir, "models");

export async function listModels(
  folder: string,
): Promise<{ models: string[]; unfinished: string[] }> {
  const names = (await readdir(folder).catch(() => [])).sort();
  const whole = new Set(names.filter((name) => /\.gguf$/i.test(name)));
  const isWhole = (name: string): boolean => partsOf(name).every((part) => whole.has(part));
  const begun = names.flatMap((name) => /^(.*\.gguf)\.part$/i.exec(name)?.[1] ?? []);
  const broken = [...whole].filter((name) => !isWhole(name));
  return {
    models: [...whole].filter((name) => !isLaterPart(name) && isWhole(name)),
    unfinished: [...new Set([...begun, ...broken].map((name) => partsOf(name)[0] ?? name))],
  };
}

export async function removeModel(folder: string, file: string): Promise<number> {
  let freed = 0;
  for (const part of partsOf(file)) {
    for (const name of [part, ...filesBeside(part)]) {
      const path = join(folder, name);
      freed += (await sizeOf(path)) ?? 0;
      await rm(path, { force: true });
    }
  }
  return freed;
}
