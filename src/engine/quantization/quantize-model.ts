/** Quantizes a model's weights, once, in a child process, and removes files of weights that were replaced. */
import {
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  utimes,
  writeFile,
} from "node:fs/promises";
import { platform, totalmem } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import {
  madeFromSuffix,
  markOf,
  type Quantization,
  quantizedName,
} from "../../core/models/model-files.ts";
import type { Progress } from "../../core/progress.ts";
import { lastLine, type Program, tailOf } from "../../subprocess/program.ts";
import { readJsonFile } from "../../validation/json-file.ts";
import { weightsDigest } from "../fingerprint.ts";
import { readFacts } from "../machine/model-memory.ts";

export interface QuantizeOptions {
  type: Quantization;
  folder: string;
  threads: number;
  /** Runs at the lowest priority, and pauses while the node answers requests; absent: runs at once. */
  quiet?: { watch(onChange: (goesOn: boolean) => void): Disposable };
  program: Program;
  signal: AbortSignal;
  progress: Progress;
  log: Log;
}

/** `bytes`: its size when it was made; those of earlier versions lack it. */
const Note = T.Object({ source: T.String(), bytes: T.Optional(T.Number()) });
type Note = Static<typeof Note>;

/** Bits of a weight, near enough for progress and for whether there is room. */
const bits: Record<Quantization, number> = {
  f16: 16,
  q8_0: 8.5,
  q6_k: 6.6,
  q5_k_m: 5.7,
  q4_k_m: 4.9,
  q4_k_s: 4.7,
  q4_0: 4.7,
};

const pollMs = 200;

/** Returns the path of the quantized file; if that fails, of the original, with a warning. */
export async function quantizeModel(path: string, options: QuantizeOptions): Promise<string> {
  const { type, folder, log } = options;
  const digest = await weightsDigest(path);
  const target = targetOf(path, digest, options);
  try {
    if (!(await isMade(target))) {
      const { parameters, quantization } = await readFacts(path);
      if (quantization.toLowerCase() === type) return path;
      const bytes = (parameters * bits[type]) / 8;
      // The model may be in another folder, and this one may not exist yet.
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await checkRoom(bytes, dirname(target));
      await run(path, target, bytes, options);
      const note: Note = { source: path, bytes: (await stat(target)).size };
      await writeFile(`${target}${madeFromSuffix}`, JSON.stringify(note));
    }
  } catch (error) {
    options.signal.throwIfAborted();
    const fields = { wanted: type, why: reasonOf(error) };
    log.warn("the model is used with the weights that it came with", fields);
    return path;
  }
  await clearSuperseded(path, digest, folder, log);
  return target;
}

/** The file of an earlier quantization; undefined if there is none. */
export async function findQuantized(
  path: string,
  options: Pick<QuantizeOptions, "folder" | "type">,
): Promise<string | undefined> {
  const target = targetOf(path, await weightsDigest(path), options);
  return (await isMade(target)) ? target : undefined;
}

/** One that is cut off, as by a copy of the data dir onto a full disk, is made again. */
async function isMade(target: string): Promise<boolean> {
  const { size } = await stat(target).catch(() => ({ size: 0 }));
  const note = await readJsonFile(Note, `${target}${madeFromSuffix}`);
  return size > 0 && size === (note?.bytes ?? size);
}

const targetOf = (
  path: string,
  digest: string,
  { folder, type }: Pick<QuantizeOptions, "folder" | "type">,
): string => join(folder, quantizedName(basename(path), type, digest));

async function run(
  path: string,
  target: string,
  bytes: number,
  { type, threads, quiet, program, signal, progress }: QuantizeOptions,
): Promise<void> {
  const partial = `${target}.${crypto.randomUUID()}.part`;
  const step = progress.step(`Quantizing ${basename(path)} to ${type}`, bytes, "bytes");
  const priority = quiet === undefined ? [] : ["--low-priority"];
  const asked = ["quantize", path, partial, type, String(threads), ...priority];
  const child = Bun.spawn([...program.command, ...asked], {
    env: program.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    signal,
    // It gets no other signal while it is paused, or in native code for minutes.
    killSignal: "SIGKILL",
  });
  // Windows has no such signals; there the priority has to do.
  const pauses = platform() === "win32" ? undefined : quiet;
  const stderrTail = tailOf(child.stderr);
  const timer = setInterval(async () => {
    const { size } = await stat(partial).catch(() => ({ size: 0 }));
    step.update(Math.min(size, bytes));
    // Otherwise another process would take it for abandoned while it is paused.
    const now = new Date();
    await utimes(partial, now, now).catch(() => {});
  }, pollMs);
  try {
    // One that is paused before it says that it ends with this process would outlive it.
    const { done } = await child.stdout.getReader().read();
    using _ = done ? undefined : pauses?.watch((on) => child.kill(on ? "SIGCONT" : "SIGSTOP"));
    if ((await child.exited) !== 0) throw new Error(lastLine(await stderrTail));
    {
      // Before the rename: a file under its final name must be whole even after a loss of power.
      await using file = await open(partial, "r+");
      await file.sync();
    }
    await rename(partial, target);
    step.finish();
  } catch (error) {
    step.finish("not possible");
    throw error;
  } finally {
    clearInterval(timer);
    await rm(partial, { force: true });
  }
}

/** Requires twice the size, so that neither the disk nor the memory is filled to the last byte. */
async function checkRoom(bytes: number, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes * 2) throw new Error("there is too little free disk");
  if (totalmem() < bytes * 2) throw new Error("there is too little memory");
}

/** A file that is being written is touched all the time; one unchanged for this long was abandoned. */
const abandonedAfterMs = 10 * 60 * 1000;

/** Removes quantized files of replaced weights, and what a process that died left; `digest` is that of the present weights. */
async function clearSuperseded(
  source: string,
  digest: string,
  folder: string,
  log: Log,
): Promise<void> {
  try {
    for (const name of await readdir(folder)) {
      if (await isAbandoned(folder, name)) await rm(join(folder, name), { force: true });
      if (!name.endsWith(madeFromSuffix) || name.includes(markOf(digest))) continue;
      if ((await readJsonFile(Note, join(folder, name)))?.source !== source) continue;
      const file = basename(name, madeFromSuffix);
      await rm(join(folder, file), { force: true });
      await rm(join(folder, name), { force: true });
      log.info("a quantized file of replaced weights was removed", { file });
    }
  } catch (error) {
    log.warn("what was quantized before cannot be removed", { why: reasonOf(error) });
  }
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  if (!/\.gguf\.[0-9a-f-]{36}\.part$/i.test(name)) return false;
  const found = await stat(join(folder, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs;
}
