/** What the starter chat model is quantized to: it follows from what llama.cpp computes with on this CPU. */
import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Quantization } from "../../core/models/model-files.ts";
import type { Program } from "../../subprocess/program.ts";
import { readJsonFile } from "../../validation/json-file.ts";

/** The hidden command that is asked; see cli/internal-commands.ts. */
export const systemInfoCommand = "system-info";

/** Beside the models, so that later starts need not ask. */
export const cpuFile = "cpu.json";

const Remembered = T.Object({ cpu: T.String(), info: T.String() });

export interface StarterQuantization {
  type: Quantization;
  /** Whether it is worth waiting for: it is made in seconds, and better than the original in every way. */
  first: boolean;
}

/** With AMX, `q8_0` is made in seconds and is fastest. Without, `q4_k_s` is better, and takes minutes to make. */
export const quantizationFor = (systemInfo: string): StarterQuantization =>
  /\bAMX_INT8 = 1\b/.test(systemInfo)
    ? { type: "q8_0", first: true }
    : { type: "q4_k_s", first: false };

/** If llama.cpp cannot be asked: the quantization that is ready first. */
const unknown: StarterQuantization = { type: "q8_0", first: true };

interface AskOptions {
  folder: string;
  program: Program;
  signal: AbortSignal;
  log: Log;
}

/** Asks llama.cpp itself, in a process of its own, once for each CPU that the folder is used on. */
export async function starterQuantization(options: AskOptions): Promise<StarterQuantization> {
  const { folder, program, signal, log } = options;
  const remembered = await rememberedQuantization(folder);
  if (remembered !== undefined) return remembered;
  try {
    const info = await ask(program, signal);
    const chosen = quantizationFor(info);
    log.info("the starter chat model's quantization was chosen for the CPU", {
      quantization: chosen.type,
      info,
    });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, cpuFile), JSON.stringify({ cpu: cpuName(), info }));
    return chosen;
  } catch (error) {
    signal.throwIfAborted();
    log.warn("llama.cpp does not say what it computes with here", { reason: reasonOf(error) });
    return unknown;
  }
}

/** The result of an earlier start on this CPU; undefined if there is none. */
export async function rememberedQuantization(
  folder: string,
): Promise<StarterQuantization | undefined> {
  const found = await readJsonFile(Remembered, join(folder, cpuFile));
  return found?.cpu === cpuName() ? quantizationFor(found.info) : undefined;
}

const cpuName = (): string => cpus()[0]?.model ?? "unknown";

async function ask(program: Program, signal: AbortSignal): Promise<string> {
  const child = Bun.spawn([...program.command, systemInfoCommand], {
    env: program.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    signal,
  });
  const info = (await new Response(child.stdout).text()).trim();
  if ((await child.exited) !== 0 || info === "") throw new Error(`it ended with ${child.exitCode}`);
  return info;
}
