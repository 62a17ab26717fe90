/** Creates the starter models' files from installed packages, the executable, or the registry. */
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NodeError } from "../../core/errors.ts";
import { type ExecutableContents, executable } from "../../packaging/executable-contents.ts";
import { makePrivateFolder, sizeOf, writeAtomically } from "../files.ts";
import { importBert } from "../gguf/import-bert.ts";
import { readOnnx, readSafetensors } from "../gguf/weights.ts";
import { type ByteSink, writeGguf } from "../gguf/write.ts";
import { type FetchedEmbeddingModel, starterChat, starterEmbedding } from "../starter-models.ts";
import { type DigestOptions, digestOf, hashOf, noteDigest } from "./digest.ts";
import { takeFiles } from "./npm/fetch-package.ts";
import { type RegistryOf, registryFrom } from "./npm/registry-settings.ts";
import { lockDownload } from "./partial-file.ts";

export function prepareStarterChat(options: DigestOptions): Promise<string> {
  return prepare(starterChat, options, () => {
    const parts = chatParts();
    return {
      label: "Assembling the starter chat model",
      write: (file) => copyAll(parts, file),
      mismatch: installAgain("chat"),
    };
  });
}

export function prepareStarterEmbedding(options: DigestOptions): Promise<string> {
  return prepare(starterEmbedding, options, () => {
    const mismatch = installAgain("embedding");
    if (executable !== undefined) {
      const { path } = packedStarter().embedding;
      const label = "Writing the starter embedding model";
      return { label, mismatch, write: (file) => copyAll([path], file) };
    }
    return {
      label: "Converting the starter embedding model",
      mismatch,
      async write(file) {
        const parts = join(packageFolder(starterEmbedding.package), "model");
        await checkParts(starterEmbedding.parts, parts, mismatch);
        const weights = await readSafetensors(join(parts, "model.fp16.safetensors"));
        await writeGguf(file, await importBert(starterEmbedding.name, parts, weights));
      },
    };
  });
}

/** Downloads a starter embedding model from the registry, and converts it. */
export async function prepareFetched(
  model: FetchedEmbeddingModel,
  options: DigestOptions & { registryOf?: RegistryOf },
): Promise<string> {
  const { folder, progress, signal, registryOf = registryFrom({}, ".") } = options;
  const { source } = model;
  const path = join(folder, model.file);
  const parts = `${path}.parts`;
  await makePrivateFolder(folder);
  using lock = await lockDownload(path, signal, progress);
  const mismatch: Mismatch = (found, expected, part) =>
    new NodeError(
      "unavailable",
      `The model '${source}' is not what it should be: the sha256 of ${part === undefined ? model.file : `${part} of ${model.package}`} is ${found}, expected ${expected}. Nothing of it was stored.`,
    );
  try {
    return await prepare(model, { folder, progress, signal }, async () => {
      await rm(parts, { recursive: true, force: true });
      const registry = await registryOf(model.package);
      const wanted = Object.keys(model.parts).map(
        (name) => [`${model.folder}/${name}`, join(parts, name)] as const,
      );
      await takeFiles(model, new Map(wanted), { registry, source, progress, signal });
      await checkParts(model.parts, parts, mismatch);
      return {
        label: `Converting ${model.name}`,
        mismatch,
        async write(file) {
          const weights = await readOnnx(join(parts, model.weights));
          await writeGguf(file, await importBert(model.name, parts, weights));
        },
      };
    });
  } finally {
    await rm(parts, { recursive: true, force: true });
    lock.done();
  }
}

/** The error for a file with a wrong digest; `name`: a part of the model. */
type Mismatch = (found: string, expected: string, name?: string) => NodeError;

interface Recipe {
  label: string;
  write: (file: ByteSink) => Promise<void>;
  mismatch: Mismatch;
}

/** Returns the path of the model's file; creates it if its size or digest is wrong. */
async function prepare(
  { file: name, bytes, sha256 }: { file: string; bytes: number; sha256: string },
  options: DigestOptions,
  recipeOf: () => Recipe | Promise<Recipe>,
): Promise<string> {
  const { folder, progress } = options;
  const path = join(folder, name);
  if ((await sizeOf(path)) === bytes && (await digestOf(path, options)) === sha256) return path;
  const { label, write, mismatch } = await recipeOf();
  const step = progress.step(label, bytes, "bytes");
  await writeAtomically(path, async (file) => {
    const hash = new Bun.CryptoHasher("sha256");
    let written = 0;
    await write({
      async writeFile(chunk) {
        hash.update(chunk);
        await file.writeFile(chunk);
        written += chunk.length;
        step.update(written);
      },
    });
    const found = hash.digest("hex");
    if (found !== sha256) throw mismatch(found, sha256);
  });
  step.finish();
  await noteDigest(path, sha256, folder);
  return path;
}

/** Streams the parts, so that the weights are never in memory as a whole. */
async function copyAll(parts: readonly string[], file: ByteSink): Promise<void> {
  for (const part of parts) {
    for await (const chunk of Bun.file(part).stream()) await file.writeFile(chunk);
  }
}

async function checkParts(
  parts: Readonly<Record<string, string>>,
  folder: string,
  mismatch: Mismatch,
): Promise<void> {
  for (const [name, sha256] of Object.entries(parts)) {
    const found = (await hashOf(join(folder, name))).digest("hex");
    if (found !== sha256) throw mismatch(found, sha256, name);
  }
}

const installAgain =
  (type: "chat" | "embedding"): Mismatch =>
  (found, expected, name) => {
    const what = name === undefined ? "parts do not make" : `${name} is not`;
    return new NodeError(
      "unavailable",
      `The starter ${type} model's ${what} the file that it should be (sha256 ${found}, expected ${expected}). Run 'bun install --force' to fetch them again.`,
    );
  };

/** Throws if the parts of a starter model are not on this machine. */
export function checkStarterParts(type: "chat" | "embedding"): void {
  if (type === "chat") chatParts();
  else if (executable !== undefined) packedStarter();
  else packageFolder(starterEmbedding.package);
}

function chatParts(): string[] {
  if (executable !== undefined) return packedStarter().chat.map(({ path }) => path);
  return starterChat.packages.map((name) => join(packageFolder(name), "model.part"));
}

function packedStarter(): NonNullable<ExecutableContents["starter"]> {
  if (executable?.starter !== undefined) return executable.starter;
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
