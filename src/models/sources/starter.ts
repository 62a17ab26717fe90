/** Puts the starter models' files together from the packages that `bun install` brought. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NodeError } from "../../core/errors.ts";
import type { Progress } from "../../core/progress.ts";
import { type Carried, type CarriedFile, carried } from "../../embedded/carried.ts";
import { writeAtomically } from "../atomic-file.ts";
import { starterChat, starterEmbedding } from "../catalog.ts";
import { sizeOf } from "../file-size.ts";
import { importBert } from "../gguf/import-bert.ts";
import { SafetensorsFile } from "../gguf/safetensors.ts";
import { writeGguf } from "../gguf/write.ts";

export async function prepareStarterChat(folder: string, progress: Progress): Promise<string> {
  const path = join(folder, starterChat.file);
  if ((await sizeOf(path)) === starterChat.bytes) return path;
  const parts = chatParts();
  const step = progress.step("Assembling the starter chat model", starterChat.bytes, "bytes");
  await writeAtomically(path, async (file) => {
    const hash = new Bun.CryptoHasher("sha256");
    let written = 0;
    for (const part of parts) {
      // Piece by piece, from the executable too: the weights never are in memory as a whole.
      for await (const chunk of Bun.file(part).stream()) {
        hash.update(chunk);
        await file.writeFile(chunk);
        written += chunk.length;
        step.update(written);
      }
    }
    const found = hash.digest("hex");
    if (found !== starterChat.sha256) {
      throw new NodeError(
        "unavailable",
        `The starter chat model's parts do not make the file they should (sha256 ${found}, expected ${starterChat.sha256}). Run 'bun install --force' to fetch them again.`,
      );
    }
  });
  step.finish();
  return path;
}

export async function prepareStarterEmbedding(folder: string, progress: Progress): Promise<string> {
  const path = join(folder, starterEmbedding.file);
  if ((await sizeOf(path)) === starterEmbedding.bytes) return path;
  if (carried !== undefined) return await writeCarried(path, carriedStarter().embedding, progress);
  const model = join(packageFolder(starterEmbedding.package), "model");
  const step = progress.step(
    "Converting the starter embedding model",
    starterEmbedding.bytes,
    "bytes",
  );
  await using weights = await SafetensorsFile.open(join(model, "model.fp16.safetensors"));
  const gguf = await importBert(starterEmbedding.name, model, weights);
  await writeAtomically(path, (file) => writeGguf(file, gguf, (bytes) => step.update(bytes)));
  step.finish();
  return path;
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

async function writeCarried(path: string, file: CarriedFile, progress: Progress): Promise<string> {
  const step = progress.step("Writing the starter embedding model", file.bytes, "bytes");
  await writeAtomically(path, async (target) => {
    let written = 0;
    for await (const chunk of Bun.file(file.path).stream()) {
      await target.writeFile(chunk);
      written += chunk.length;
      step.update(written);
    }
  });
  step.finish();
  return path;
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
