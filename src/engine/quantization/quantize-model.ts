/** Quantises a model's weights to another type, once, in a child process. */
import {
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises";
import { platform, totalmem } from "node:os";
import { basename, dirname, join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import {
  formerTranscodedName,
  madeFromSuffix,
  markOf,
  type Quantization,
  transcodedName,
} from "../../core/models/model-files.ts";
import type { Progress } from "../../core/progress.ts";
import { lastLine, tailOf } from "../../subprocess/last-output.ts";
import type { Program } from "../../subprocess/program.ts";
import { weightsDigest } from "../fingerprint.ts";

export interface TranscodeOptions {
  type: Quantization;
  folder: string;
  threads: number;
  /** Has it run at the lowest priority, and pause while the node is asked for something; absent: it goes before. */
  quiet?: { watch(onChange: (goesOn: boolean) => void): Disposable };
  program: Program;
  signal: AbortSignal;
  progress: Progress;
  log: Log;
}

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

/** Returns the path of the transcoded file; where it cannot be made, that of the original, with a warning. */
export async function transcode(path: string, options: TranscodeOptions): Promise<string> {
  const { type, folder, log } = options;
  const digest = await weightsDigest(path);
  const target = targetOf(path, digest, options);
  try {
    if (!(await exists(target))) {
      // The engine's library is loaded only where there is something to make.
      const { readModelFacts } = await import("../gguf/model-facts.ts");
      const { parameters, quantization } = await readModelFacts(path);
      if (quantization.toLowerCase() === type) return path;
      const bytes = (parameters * bits[type]) / 8;
      // A model that lies elsewhere may be the first that the folder is needed for.
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await checkRoom(bytes, dirname(target));
      await run(path, target, bytes, options);
      await noteSource(target, path);
    }
  } catch (error) {
    options.signal.throwIfAborted();
    log.warn("the model is used in the form it came in", { wanted: type, why: reasonOf(error) });
    return path;
  }
  await clearSuperseded({ source: path, digest, type, folder }, log);
  return target;
}

/** The file that weights were transcoded into before; undefined where they were not. */
export async function findTranscoded(
  path: string,
  options: Pick<TranscodeOptions, "folder" | "type">,
): Promise<string | undefined> {
  const target = targetOf(path, await weightsDigest(path), options);
  return (await exists(target)) ? target : undefined;
}

const targetOf = (
  path: string,
  digest: string,
  { folder, type }: Pick<TranscodeOptions, "folder" | "type">,
): string => join(folder, transcodedName(basename(path), type, digest));

async function run(
  path: string,
  target: string,
  bytes: number,
  { type, threads, quiet, program, signal, progress }: TranscodeOptions,
): Promise<void> {
  const partial = `${target}.${crypto.randomUUID()}.part`;
  const step = progress.step(`Transcoding ${basename(path)} to ${type}`, bytes, "bytes");
  const priority = quiet === undefined ? [] : ["--low-priority"];
  const asked = ["quantize", path, partial, type, String(threads), ...priority];
  const child = Bun.spawn([...program.command, ...asked], {
    env: program.env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    signal,
    // It hears no other while it pauses, or is in native code for minutes.
    killSignal: "SIGKILL",
  });
  // Windows has no such signals; there the priority has to do.
  const pauses = platform() === "win32" ? undefined : quiet;
  using _ = pauses?.watch((goesOn) => child.kill(goesOn ? "SIGCONT" : "SIGSTOP"));
  const stderrTail = tailOf(child.stderr);
  const timer = setInterval(async () => {
    const { size } = await stat(partial).catch(() => ({ size: 0 }));
    step.update(Math.min(size, bytes));
  }, pollMs);
  try {
    if ((await child.exited) !== 0) throw new Error(lastLine(await stderrTail));
    await flush(partial);
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

/** Before the rename: a file under its final name must be whole even after a loss of power. */
async function flush(path: string): Promise<void> {
  await using file = await open(path, "r+");
  await file.sync();
}

/** Asks for twice the size, so that the disk and the memory are not filled to the last byte. */
async function checkRoom(bytes: number, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes * 2) throw new Error("there is too little free disk");
  if (totalmem() < bytes * 2) throw new Error("there is too little memory");
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Removes transcoded files that are of no use any more: of replaced weights, or left by a process that died. */

const Note = T.Object({ source: T.String() });
/** A file that is being written changes all the time; one unchanged for this long was abandoned. */
const abandonedAfterMs = 10 * 60 * 1000;

export async function noteSource(target: string, source: string): Promise<void> {
  await writeFile(`${target}${madeFromSuffix}`, JSON.stringify({ source }));
}

export interface Made {
  /** The file that it was made from, and the digest of its weights. */
  source: string;
  digest: string;
  type: Quantization;
  folder: string;
}

/** A start does not depend on it, so a failure is logged and not thrown. */
export async function clearSuperseded(made: Made, log: Log): Promise<void> {
  const { folder, source, digest, type } = made;
  try {
    const names = await readdir(folder);
    for (const name of names) {
      if (await isAbandoned(folder, name)) await rm(join(folder, name), { force: true });
      if (!name.endsWith(madeFromSuffix) || name.includes(markOf(digest))) continue;
      if ((await sourceOf(join(folder, name))) !== source) continue;
      const file = basename(name, madeFromSuffix);
      await rm(join(folder, file), { force: true });
      await rm(join(folder, name), { force: true });
      log.info("a transcoded file of replaced weights was removed", { file });
    }
    const former = formerTranscodedName(basename(source), type);
    // A file that was fetched under this name is a model of its own.
    const isFetched = names.includes(`${former}.origin.json`);
    if (former === basename(source) || isFetched || !names.includes(former)) return;
    log.warn(
      "a transcoded file does not say what it was made from and is not used; remove it with 'paddock models rm'",
      { file: former },
    );
  } catch (error) {
    log.warn("what was transcoded before cannot be cleared away", { why: reasonOf(error) });
  }
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  if (!/\.gguf\.[0-9a-f-]{36}\.part$/i.test(name)) return false;
  const found = await stat(join(folder, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs;
}

async function sourceOf(path: string): Promise<string | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(Note, note) ? note.source : undefined;
  } catch {
    return undefined; // removed meanwhile, or half written
  }
}
