/** Assembles the starter models from the packages that `bun install` brought, or from the executable. */
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NodeError } from "../../core/errors.ts";
import type { Progress, ProgressStep } from "../../core/progress.ts";
import { type Carried, carried } from "../../packaging/carried.ts";
import { writeAtomically } from "../atomic-file.ts";
import { starterChat, starterEmbedding } from "../catalog.ts";
import { sizeOf } from "../file-size.ts";
import { importBert } from "../gguf/import-bert.ts";
import { SafetensorsFile } from "../gguf/safetensors.ts";
import { writeGguf } from "../gguf/write.ts";
import { type DigestOptions, digestOf, hashOf } from "./digest.ts";
import { noteDigest } from "./known-digests.ts";

export function prepareStarterChat(
  folder: string,
  progress: Progress,
  signal?: AbortSignal,
): Promise<string> {
  return prepare("chat", starterChat, { folder, progress, signal }, () => {
    const parts = chatParts();
    return {
      label: "Assembling the starter chat model",
      write: (file, step) => copyAll(parts, file, step),
    };
  });
}

export function prepareStarterEmbedding(
  folder: string,
  progress: Progress,
  signal?: AbortSignal,
): Promise<string> {
  return prepare("embedding", starterEmbedding, { folder, progress, signal }, () =>
    carried === undefined
      ? { label: "Converting the starter embedding model", write: convert }
      : {
          label: "Writing the starter embedding model",
          write: (file, step) => copyAll([carriedStarter().embedding.path], file, step),
        },
  );
}

/** How a model's file is made; `write` returns the digest of what it wrote. */
interface Recipe {
  label: string;
  write: (file: FileHandle, step: ProgressStep) => Promise<string>;
}

/** Returns the path of the model's file, which is made where it is not there or not whole. */
async function prepare(
  type: "chat" | "embedding",
  { file: name, bytes, sha256 }: { file: string; bytes: number; sha256: string },
  { folder, progress, signal = new AbortController().signal }: PrepareOptions,
  recipeOf: () => Recipe,
): Promise<string> {
  const path = join(folder, name);
  if (await isMade(path, { bytes, sha256 }, { folder, progress, signal })) return path;
  const { label, write } = recipeOf();
  const step = progress.step(label, bytes, "bytes");
  await writeAtomically(path, async (file) => {
    const found = await write(file, step);
    if (found !== sha256) throw notTheFile(type, found, sha256);
  });
  step.finish();
  await noteDigest(path, sha256, folder);
  return path;
}

type PrepareOptions = Pick<DigestOptions, "folder" | "progress"> & {
  signal: AbortSignal | undefined;
};

/** Checks size and digest: a file with other content is made again. */
async function isMade(
  path: string,
  { bytes, sha256 }: { bytes: number; sha256: string },
  options: DigestOptions,
): Promise<boolean> {
  return (await sizeOf(path)) === bytes && (await digestOf(path, options)) === sha256;
}

/** Streams the parts one after the other, so that the weights are never in memory as a whole. */
async function copyAll(
  parts: readonly string[],
  file: FileHandle,
  step: ProgressStep,
): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  let written = 0;
  for (const part of parts) {
    for await (const chunk of Bun.file(part).stream()) {
      hash.update(chunk);
      await file.writeFile(chunk);
      written += chunk.length;
      step.update(written);
    }
  }
  return hash.digest("hex");
}

/** What the package brought is checked before anything of it is read; returns the digest of the GGUF. */
async function convert(file: FileHandle, step: ProgressStep): Promise<string> {
  const model = join(packageFolder(starterEmbedding.package), "model");
  for (const [name, sha256] of Object.entries(starterEmbedding.parts)) {
    const found = (await hashOf(join(model, name))).digest("hex");
    if (found !== sha256) throw notTheFile("embedding", found, sha256, name);
  }
  await using weights = await SafetensorsFile.open(join(model, "model.fp16.safetensors"));
  const gguf = await importBert(starterEmbedding.name, model, weights);
  const hash = new Bun.CryptoHasher("sha256");
  const hashing = {
    async writeFile(bytes: Uint8Array): Promise<void> {
      hash.update(bytes);
      await file.writeFile(bytes);
    },
  };
  await writeGguf(hashing, gguf, (bytes) => step.update(bytes));
  return hash.digest("hex");
}

function notTheFile(
  type: "chat" | "embedding",
  found: string,
  expected: string,
  name?: string,
): NodeError {
  const what = name === undefined ? "parts do not make" : `${name} is not`;
  return new NodeError(
    "unavailable",
    `The starter ${type} model's ${what} the file that it should be (sha256 ${found}, expected ${expected}). Run 'bun install --force' to fetch them again.`,
  );
}

/** Refuses where what a starter model is made of is not on this machine. */
export function checkStarterParts(type: "chat" | "embedding"): void {
  if (type === "chat") chatParts();
  else if (carried !== undefined) carriedStarter();
  else packageFolder(starterEmbedding.package);
}

function chatParts(): string[] {
  if (carried !== undefined) return carriedStarter().chat.map(({ path }) => path);
  return starterChat.packages.map((name) => join(packageFolder(name), "model.part"));
}

function carriedStarter(): NonNullable<Carried["starter"]> {
  if (carried?.starter !== undefined) return carried.starter;
  throw new NodeError(
    "unavailable",
    'This executable carries no starter models. Name a model in paddock.toml: [[models]] name = "mine", type = "chat", source = "./my.gguf" (or hf:owner/repo:quant); or take one that was built with --with-starter-models.',
  );
}

function packageFolder(name: string): string {
  try {
    const entry = fileURLToPath(import.meta.resolve(`${name}/package.json`));
    return dirname(entry);
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The starter model's package '${name}' is not installed. Run 'bun install' (without --omit=optional) to fetch it, or name another model in paddock.toml: [[models]] name = "mine", type = "chat", source = "./my.gguf".`,
      { cause },
    );
  }
}
