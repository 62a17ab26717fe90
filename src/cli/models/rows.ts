/** Finds the models of a node, configured or in the models folder, and describes them. */
import { basename, join } from "node:path";
import { isUpstream, type ModelConfig, upstreamUrls } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { byteSize } from "../../core/byte-size.ts";
import { reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { noLog } from "../../core/log.ts";
import { datedReason, describeBackend } from "../../core/models/engine-backends.ts";
import { isQuantized, quantizedName } from "../../core/models/model-files.ts";
import { weightsDigest } from "../../engine/fingerprint.ts";
import type { Machine } from "../../engine/machine/machine.ts";
import {
  chooseSettings,
  estimateMemory,
  type ModelFacts,
  pickChatFile,
  readFacts,
} from "../../engine/machine/model-memory.ts";
import { listModels, modelsFolder } from "../../models/models-folder.ts";
import { autoSource, findSource } from "../../models/sources/resolve.ts";
import { nameOf } from "../../models/starter-models.ts";
import { findFolderModels } from "../../node/models/folder-models.ts";
import { acceleratorsOf } from "../../node/models/model-hosts.ts";
import { dataDirOf, toContextSettings, toQuantization } from "../../node/node-settings.ts";
import type { Shell } from "../shell.ts";

export interface ModelRow {
  name: string;
  configured: boolean;
  source?: string;
  /** For an upstream model: its addresses, and its name there. */
  upstream?: { urls: readonly string[]; model: string; type: ModelConfig["type"] };
  /** Absent if the file does not exist yet, or the model is upstream. */
  path?: string;
  facts?: ModelFacts;
  /** `own`, `none`, or what the configuration names. */
  template?: string;
  /** The backend that a start would use, and why not a better one. */
  backend?: string;
  memory?: { bytes: number; contextSize: number; parallel: number; fits: string };
}

export interface FindModelsOptions {
  config: Config;
  baseDir: string;
  machine: Machine;
  threads: number;
}

/** `unused`: quantized files that no configured model is loaded from. `problems`: files that could not be read. */
export async function findModels(options: FindModelsOptions) {
  const { config, baseDir, machine } = options;
  const folder = modelsFolder(dataDirOf(config, baseDir));
  const { models, unfinished } = await listModels(folder);
  const problems: string[] = [];
  const facts = (path: string, model?: ModelConfig): Promise<ModelFacts | undefined> =>
    readFacts(path, model && toContextSettings(model, baseDir)).catch(
      (error: unknown) => void problems.push(reasonOf(error)),
    );
  const rows: ModelRow[] = [];
  for (const configured of config.models) {
    if (isUpstream(configured.source)) {
      const { name, source, type, upstream_model: model = name } = configured;
      const upstream = { urls: upstreamUrls(configured), model, type };
      rows.push({ name, configured: true, source, upstream });
      continue;
    }
    const model = await withChosenSource(configured, folder, machine);
    const path = await loadedFile(model, folder, baseDir);
    rows.push(toRow(options, path, path === undefined ? path : await facts(path, model), model));
  }
  const used = new Set(rows.map(({ path }) => path));
  const served = await findFolderModels({ config, baseDir, log: noLog });
  for (const file of models) {
    const path = join(folder, file);
    if (used.has(path)) continue;
    const name = served.find((one) => one.path === path)?.model.name;
    const row = toRow(options, path, await facts(path));
    // A file that cannot be served must not have the name of one that is.
    const isTaken = served.some(({ model }) => model.name === row.name);
    rows.push({ ...row, name: name ?? (isTaken ? file : row.name) });
  }
  const unused = models.filter((file) => !used.has(join(folder, file)) && isQuantized(file));
  return { folder, rows, unfinished, unused, problems };
}

/** Resolves `source = "auto"` to what a start would choose. */
export async function withChosenSource(
  model: ModelConfig,
  folder: string,
  machine: Machine,
): Promise<ModelConfig> {
  if (model.source !== "auto") return model;
  const { parallel } = model;
  const options = { parallel, machine: async () => machine, readFacts };
  const { source } = await autoSource(model.type, {
    folder,
    pickChatFile: (paths) => pickChatFile(paths, options),
  });
  return { ...model, source };
}

/** The file that is loaded: the source's own, or its quantized copy. */
export async function loadedFile(
  model: ModelConfig,
  folder: string,
  baseDir: string,
): Promise<string | undefined> {
  const path = await findSource(model.source, { folder, baseDir });
  const type = toQuantization(model)?.type;
  if (path === undefined || type === undefined) return path;
  const digest = await weightsDigest(path).catch(() => undefined);
  if (digest === undefined) return path;
  const quantized = join(folder, quantizedName(basename(path), type, digest));
  return (await Bun.file(quantized).exists()) ? quantized : path;
}

const defaults = {
  ctx_size: 0,
  batch_size: "auto",
  n_gpu_layers: "auto",
  parallel: 4,
  prompt_template: "auto",
} as const;

export function toRow(
  { machine, threads }: Pick<FindModelsOptions, "machine" | "threads">,
  path: string | undefined,
  facts: ModelFacts | undefined,
  model?: ModelConfig,
): ModelRow {
  const { parallel: answers, prompt_template: template, ...sizes } = model ?? defaults;
  const row: ModelRow = {
    name: model?.name ?? nameOf(path ?? ""),
    configured: model !== undefined,
    ...given({ source: model?.source, path }),
  };
  if (facts === undefined) return row;
  const parallel = facts.kind === "chat" ? answers : threads;
  const { ctx_size: ctxSize, batch_size: wantedBatch, n_gpu_layers: nGpuLayers } = sizes;
  const wanted = { ctxSize, batchSize: wantedBatch, nGpuLayers };
  const chosen = chooseSettings({ facts, machine, parallel, wanted });
  const { ctxSize: contextSize, batchSize } = chosen;
  const bytes = estimateMemory(facts, { contextSize, parallel, batchSize }).total;
  return {
    ...row,
    facts,
    template: template === "auto" ? (facts.hasChatTemplate ? "own" : "none") : template,
    memory: { bytes, contextSize, parallel, fits: fits(bytes, machine) },
  };
}

/** Adds the backend of each configured model whose file exists; nothing is tried. */
export async function withBackends(
  { cwd, program }: Pick<Shell, "cwd" | "program">,
  config: Config,
  rows: readonly ModelRow[],
): Promise<ModelRow[]> {
  const { models } = config;
  const accelerators = acceleratorsOf({ config, baseDir: cwd, program, log: noLog });
  return await Array.fromAsync(rows, async (row) => {
    const model = row.configured ? models.find(({ name }) => name === row.name) : undefined;
    if (model === undefined || row.path === undefined) return row;
    const context = toContextSettings(model, cwd);
    const subject = { path: row.path, nGpuLayers: model.n_gpu_layers, context };
    const { candidates, proven, rejected } = await accelerators.planFor(subject);
    const [best = "cpu"] = candidates;
    const isKnown = best === "cpu" || proven.includes(best);
    const backend = isKnown ? best : `${best} (to be tried at the next start)`;
    const dated = rejected.map((one) => ({ ...one, reason: datedReason(one) }));
    return { ...row, backend: describeBackend(backend, dated) };
  });
}

/** One line if all models have the same backend. */
export function backendLines(rows: readonly ModelRow[]): string[] {
  const known = rows.flatMap(({ name, backend }) =>
    backend === undefined ? [] : { name, backend },
  );
  const different = new Set(known.map(({ backend }) => backend));
  if (different.size <= 1) return [...different].map((backend) => `Backend: ${backend}.`);
  return known.map(({ name, backend }) => `Backend of ${name}: ${backend}.`);
}

/** `1.1 B`, as makers of models count. */
export function parameterCount(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} B`;
  if (count >= 1e6) return `${Math.round(count / 1e6)} M`;
  return `${Math.round(count / 1e3)} k`;
}

/** Whether it fits the memory: `yes`, `not now` while others use it, or `no`. */
export function fits(bytes: number, { memory, availableMemory }: Machine): string {
  if (bytes <= availableMemory) return "yes";
  return bytes <= memory ? "not now" : "no";
}

export function describeModel(facts: ModelFacts): string {
  const { architecture, parameters, quantization, trainContext, bytes } = facts;
  return `${architecture}, ${parameterCount(parameters)} parameters, ${quantization}, trained on ${trainContext} tokens, ${byteSize(bytes)}`;
}

/** Configuration lines for a model; `sha256`: the expected digest of its file. */
export function configurationFor({ kind }: ModelFacts, source: string, sha256?: string): string {
  // A JSON string is a TOML string too.
  const from = JSON.stringify(source);
  const digest = sha256 === undefined ? "" : `sha256 = "${sha256}"\n`;
  const name = JSON.stringify(nameOf(source));
  const section = `[[models]]\nname = ${name}\ntype = "${kind}"\nsource = ${from}\n${digest}`;
  // A node may rerank for others without doing so for its own searches.
  return kind === "reranker" ? `[retrieval]\nreranker = ${name}\n\n${section}` : section;
}
