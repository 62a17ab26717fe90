/** The models in the models folder that no section of the configuration uses, with what their files say. */
import { realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { completeModel, isUpstream, type ModelConfig } from "../../config/model-schema.ts";
import { reasonOf } from "../../core/errors.ts";
import type { KnownModel } from "../../core/models/model-on-demand.ts";
import { fingerprint } from "../../engine/fingerprint.ts";
import { readMachineMemory, withinLimit } from "../../engine/machine/machine.ts";
import {
  defaultContext,
  type ModelFacts,
  pickChatModel,
  readFacts,
  weightsOf,
} from "../../engine/machine/model-memory.ts";
import { listModels, modelsFolder, originsOf } from "../../models/models-folder.ts";
import { findSource, isChosen } from "../../models/sources/resolve.ts";
import { nameOf, starterGteSmall } from "../../models/starter-models.ts";
import { dataDirOf, type ModelOptions, toMemoryLimit, toModelSpec } from "../node-settings.ts";
import { acceleratorsOf } from "./model-hosts.ts";

export interface FolderModel {
  model: ModelConfig;
  /** Of its first file; also the model's `source`. */
  path: string;
  facts: ModelFacts;
  createdAt: Date;
  /** Changes when the file does. */
  stamp: string;
  /** Whether the node fetched it, and may remove it. */
  isPulled: boolean;
}

type FindOptions = Pick<ModelOptions, "config" | "baseDir" | "log">;

/** Differs when the folder or one of its models does, which may be written in place; undefined: it changed a moment ago. */
export async function stampOf(folder: string): Promise<string | undefined> {
  const { models } = await listModels(folder);
  const places = [folder, ...models.map((file) => join(folder, file))];
  const stats = await Promise.all(places.map((place) => stat(place).catch(() => undefined)));
  const times = stats.map((one) => one?.mtimeMs ?? 0);
  if (times.some((time) => Math.abs(Date.now() - time) <= settledMs)) return undefined;
  return [...models, ...times, ...stats.map((one) => one?.size)].join(" ");
}

/** File systems count time in steps: a change right after another may have the same time. */
const settledMs = 1000;

/** The oldest first, so that a new file never takes an older one's name. `known`: files that need not be read again. */
export async function findFolderModels(
  { config, baseDir, log }: FindOptions,
  known: readonly FolderModel[] = [],
): Promise<FolderModel[]> {
  const folder = modelsFolder(dataDirOf(config, baseDir));
  const used = await usedFiles({ config, baseDir });
  const names = new Set(config.models.map(({ name }) => name));
  const { models: files } = await listModels(folder);
  const chosen = files.filter(isChosen).map((file) => join(folder, file));
  const places = await Promise.all(chosen.map(placeOf));
  const paths = chosen.filter((_, at) => !used.has(places[at] ?? ""));
  const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  const found = paths
    .flatMap((path, at) => {
      const { size, mtime } = stats[at] ?? {};
      if (size === undefined || mtime === undefined) return [];
      return { path, createdAt: mtime, stamp: `${size} ${mtime.getTime()}` };
    })
    .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  const models: FolderModel[] = [];
  for (const { path, createdAt, stamp } of found) {
    const same = known.find((one) => one.path === path && one.stamp === stamp);
    const facts = same?.facts ?? (await readFacts(path).catch((error: unknown) => error));
    if (!isServable(facts)) {
      const reason = facts instanceof Error ? reasonOf(facts) : "it has no vocabulary of its own";
      log.warn("a file in the models folder cannot be served", { file: basename(path), reason });
      continue;
    }
    const origins =
      basename(path) === starterGteSmall.file ? [starterGteSmall.source] : await originsOf(path);
    const name = [nameOf(origins[0] ?? path), nameOf(path)].find(
      (each) => each !== "" && !names.has(each),
    );
    if (name === undefined) {
      log.warn("a file in the models folder has no name, or that of another model", {
        file: basename(path),
      });
      continue;
    }
    names.add(name);
    const { keep_alive } = config.models_folder;
    const model = completeModel({ name, type: facts.kind, source: path, keep_alive });
    models.push({ model, path, facts, createdAt, stamp, isPulled: origins.length > 0 });
  }
  return models;
}

/** A pulled file that cannot be served, by the name that it would have. */
export async function findUnserved(
  name: string,
  { config, baseDir }: Omit<FindOptions, "log">,
): Promise<string | undefined> {
  const folder = modelsFolder(dataDirOf(config, baseDir));
  const used = await usedFiles({ config, baseDir });
  for (const file of (await listModels(folder)).models.filter(isChosen)) {
    const path = join(folder, file);
    const [origin] = await originsOf(path);
    const names = [nameOf(origin ?? ""), nameOf(path)];
    if (origin === undefined || !names.includes(name) || used.has(await placeOf(path))) continue;
    return path;
  }
  return undefined;
}

/** Files that sections of the configuration are loaded from. */
async function usedFiles({
  config,
  baseDir,
}: Omit<FindOptions, "log">): Promise<ReadonlySet<string>> {
  const folder = modelsFolder(dataDirOf(config, baseDir));
  const local = config.models.filter(({ source }) => !isUpstream(source));
  const files = local.map(({ source }) => findSource(source, { folder, baseDir }));
  const found = (await Promise.all(files)).flatMap((path) => path ?? []);
  return new Set(await Promise.all(found.map(placeOf)));
}

/** One file may be named by several paths, through links. */
const placeOf = (path: string): Promise<string> => realpath(path).catch(() => path);

/** An adapter or an image encoder is a GGUF too. */
const isServable = (facts: unknown): facts is ModelFacts =>
  typeof facts === "object" &&
  facts !== null &&
  "vocabularySize" in facts &&
  facts.vocabularySize !== 0;

/** The chat model that a client without a choice of its own should use; undefined if none fits. */
export async function pickDefault(
  found: readonly FolderModel[],
  { config }: Pick<ModelOptions, "config">,
): Promise<FolderModel | undefined> {
  if (found.length === 0) return undefined;
  const machine = withinLimit(await readMachineMemory(), toMemoryLimit(config));
  const parallel = found[0]?.model.parallel ?? 1;
  const facts = found.map((one) => one.facts);
  const picked = pickChatModel(facts, machine, parallel);
  return found.find((one) => one.facts === picked);
}

/** What the node says of a model until it is loaded. `version`: of the program, with its engine. */
export function toKnownModel(
  { model, path, facts, createdAt, stamp }: FolderModel,
  options: ModelOptions & { version: string },
): KnownModel {
  const { name, type } = model;
  const spec = toModelSpec(model, path, options);
  const context = defaultContext(facts.trainContext, facts.kind);
  const batchSize = type === "chat" ? 512 : context;
  const settings = { ...spec.settings, ctxSize: context, batchSize, nGpuLayers: 0 };
  const devices = acceleratorsOf(options).devices;
  const own = {
    card: {
      ...{ name, type, createdAt, ownedBy: "paddock", settings },
      ...{ weights: weightsOf(facts), thinks: facts.supportsThinking },
    },
    fingerprint: fingerprint({ version: options.version, devices, stamp, settings: spec.settings }),
  };
  if (type === "chat") return { type, ...own, contextSize: context };
  if (type === "reranker") return { type, ...own, maxTokens: context };
  const { embeddingLength: dimension, vocabularySize } = facts;
  return { type, ...own, dimension, maxTokens: context, vocabularySize };
}
