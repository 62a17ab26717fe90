/** A CPU that the machine has not: a node reads what llama.cpp said of it where an earlier start noted it. */
import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { cpuFile } from "../../src/engine/quantization/starter-quantization.ts";

const said = {
  "with AMX": "CPU : AVX512 = 1 | AMX_INT8 = 1 | REPACK = 1 |",
  "without AMX": "CPU : AVX2 = 1 | REPACK = 1 |",
} as const;

/** Plays it for the nodes of a folder, in its default data dir. */
export async function playCpu(folder: string, cpu: keyof typeof said): Promise<void> {
  const models = join(folder, ".paddock", "models");
  await mkdir(models, { recursive: true, mode: 0o700 });
  const noted = { cpu: cpus()[0]?.model ?? "unknown", info: said[cpu] };
  await writeFile(join(models, cpuFile), JSON.stringify(noted));
}
