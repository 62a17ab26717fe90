/** Checks each model: its file is complete, of the configured type, and fits this machine. */
import { access, constants } from "node:fs/promises";
import { basename } from "node:path";
import { ConfigError } from "../../config/consistency.ts";
import { isUpstream, type ModelConfig, upstreamUrls } from "../../config/model-schema.ts";
import { isLoopback } from "../../core/address-range.ts";
import { byteSize } from "../../core/byte-size.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { noLog } from "../../core/log.ts";
import type { LoraAdapter } from "../../core/models/model.ts";
import { type Machine, readMachineMemory, threadBudget } from "../../engine/machine/machine.ts";
import { type ModelFacts, readFacts } from "../../engine/machine/model-memory.ts";
import { modelsFolder } from "../../models/models-folder.ts";
import { hashOf } from "../../models/sources/digest.ts";
import { isRemote } from "../../models/sources/download.ts";
import { findSource } from "../../models/sources/resolve.ts";
import { checkStarterParts } from "../../models/sources/starter.ts";
import { starterChat, starterEmbedding, starterGteSmall } from "../../models/starter-models.ts";
import { toContextSettings, toUpstreamSpec } from "../../node/node-settings.ts";
import { loadedFile, toRow, withChosenSource } from "../models/rows.ts";
import { type Finding, type Installation, note, ok, problem } from "./finding.ts";

export interface FoundModel {
  model: ModelConfig;
  path: string;
  facts: ModelFacts;
  /** Bytes, once it is loaded. */
  memory: number;
}

export async function checkModels(installation: Installation) {
  const machine = await readMachineMemory();
  const { threads } = await threadBudget(installation.config.engine.threads);
  const findings: Finding[] = [];
  const found: FoundModel[] = [];
  for (const model of installation.config.models) {
    if (isUpstream(model.source)) continue;
    const check = `model ${model.name}`;
    const result = await checkModel(installation, model, { machine, threads });
    if ("status" in result) {
      findings.push({ ...result, check });
      continue;
    }
    found.push(result);
    const { path, facts, memory } = result;
    const what = `${facts.architecture}, ${facts.quantization}, ${byteSize(facts.bytes)}`;
    const whole = `${basename(path)} is whole: ${what}; takes about ${byteSize(memory)} of memory.`;
    findings.push({ ...ok(whole), check });
  }
  if (found.length > 0) findings.push({ ...checkMemory(found, machine), check: "memory" });
  return { findings, found };
}

/** The model, or what is wrong with it. */
async function checkModel(
  { baseDir, dataDir }: Installation,
  configured: ModelConfig,
  capacity: { machine: Machine; threads: number },
): Promise<FoundModel | Finding> {
  const folder = modelsFolder(dataDir);
  const model = await withChosenSource(configured, folder, capacity.machine);
  const source = await findSource(model.source, { folder, baseDir });
  if (source === undefined) return absent(model.source, model.type);
  const damage = await damageOf(source, model);
  if (damage !== undefined) return damage;
  const path = (await loadedFile(model, folder, baseDir)) ?? source;
  const context = toContextSettings(model, baseDir);
  const adapterDamage = await damageOfAdapters(context?.lora ?? []);
  if (adapterDamage !== undefined) return adapterDamage;
  const facts = await readFacts(path, context);
  const misfit = misfitOf(model, facts);
  if (misfit !== undefined) return misfit;
  const memory = toRow(capacity, path, facts, model).memory?.bytes ?? 0;
  return { model, path, facts, memory };
}

function absent(source: string, type: ModelConfig["type"]): Finding {
  if (isRemote(source) || source === starterGteSmall.source) {
    return note(
      `'${source}' is not on this machine; the first start downloads it.`,
      `'paddock pull ${source}' fetches it beforehand.`,
    );
  }
  if (!source.startsWith("starter:") || type === "reranker") {
    return problem(
      `The model file '${source}' does not exist.`,
      "Correct the model's 'source': the path of a GGUF file, from the folder where the node is started.",
    );
  }
  try {
    checkStarterParts(type);
    return ok("The starter model is put together at the first start.");
  } catch (error) {
    return problem("The starter model is not there.", reasonOf(error));
  }
}

const getAgain = "Get the file again, from where it came.";

const starterDigests: Readonly<Record<string, string>> = {
  "starter:chat": starterChat.sha256,
  "starter:embedding": starterEmbedding.sha256,
  [starterGteSmall.source]: starterGteSmall.sha256,
};

async function damageOf(
  path: string,
  { source, sha256 }: Pick<ModelConfig, "source" | "sha256">,
): Promise<Finding | undefined> {
  const file = basename(path);
  try {
    await access(path, constants.R_OK);
  } catch {
    const remedy = `Give the node's user the right to: chmod a+r ${path}`;
    return problem(`${file} cannot be read by this user.`, remedy);
  }
  try {
    const { missingBytes } = await import("../../engine/gguf/model-facts.ts");
    const missing = await missingBytes(path);
    if (missing > 0) {
      return problem(`${file} is cut off: ${byteSize(missing)} are missing.`, getAgain);
    }
  } catch (error) {
    return problem(`${file} is not a GGUF file: ${reasonOf(error)}.`, getAgain);
  }
  const wanted = sha256?.toLowerCase() ?? starterDigests[source];
  const found = wanted === undefined ? undefined : (await hashOf(path)).digest("hex");
  if (found === wanted) return undefined;
  return problem(
    `${file} is not the file that it should be: its sha256 is ${found}, expected ${wanted}.`,
    source in starterDigests
      ? `Remove ${path}; the next start makes it again.`
      : `${getAgain} Or correct 'sha256' of the model.`,
  );
}

async function damageOfAdapters(lora: readonly LoraAdapter[]): Promise<Finding | undefined> {
  for (const { path } of lora) {
    if (!(await Bun.file(path).exists())) {
      return problem(
        `The LoRA adapter '${path}' does not exist.`,
        "Correct the model's 'lora': paths are from the folder where the node is started.",
      );
    }
    const damage = await damageOf(path, { source: path });
    if (damage !== undefined) return damage;
  }
  return undefined;
}

const purposes = { chat: "to chat", embedding: "for embeddings", reranker: "for ranking" } as const;

function misfitOf(
  { name, type, ctx_size: wanted }: ModelConfig,
  { kind, trainContext }: ModelFacts,
): Finding | undefined {
  // A chat model can embed too, and most do it well.
  if (type !== kind && !(type === "embedding" && kind === "chat")) {
    return problem(
      `It is configured ${purposes[type]}, but its file is a model ${purposes[kind]}.`,
      `Set type = "${kind}" for '${name}', or name another source.`,
    );
  }
  if (wanted === "auto" || wanted <= trainContext || trainContext === 0) return undefined;
  return problem(
    `ctx_size is ${wanted}, but it was trained on ${trainContext} tokens.`,
    `Set ctx_size = ${trainContext} or less; 0 takes what fits.`,
  );
}

function checkMemory(
  found: readonly FoundModel[],
  { memory: total, availableMemory: free }: Machine,
): Finding {
  const wanted = found.reduce((sum, { memory }) => sum + memory, 0);
  const words = `The models take about ${byteSize(wanted)}; this machine has ${byteSize(total)}, of which ${byteSize(free)} are free.`;
  const smaller = "Take smaller models, or lower 'parallel' and 'ctx_size'";
  if (wanted > total) return problem(words, `${smaller}.`);
  if (wanted > free) return note(words, `${smaller}, or end other programs.`);
  return ok(words);
}

/** Checks that each server of an upstream model answers, accepts the key, and has the model. */
export async function checkUpstream(
  { secretOf }: Pick<Installation, "secretOf">,
  model: ModelConfig,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { toUpstream } = await import("../../node/gateway/upstream-models.ts");
  const { openUpstreamModel } = await import("../../gateway/upstream/open-model.ts");
  const findings: Finding[] = [];
  for (const url of upstreamUrls(model)) {
    const alone = { ...model, source: `openai:${url}`, replicas: [] };
    try {
      const upstream = toUpstream(alone, { log: noLog, ...given({ secretOf }) });
      using _ = upstream.replicas;
      await using opened = await openUpstreamModel(toUpstreamSpec(model), upstream, signal);
      const { upstream: served, settings } = opened.card;
      findings.push(
        ok(
          `${url}: ${served?.server} has '${served?.model}', with ${settings.ctxSize} tokens; they are ${served?.tokens}.`,
        ),
      );
      const { protocol, hostname } = new URL(url);
      if (upstream.key === undefined || protocol !== "http:" || isLoopback(hostname)) continue;
      const remedy = "Have the server speak https, unless the network is yours alone.";
      findings.push(note(`${url}: the key goes there unencrypted.`, remedy));
    } catch (error) {
      if (error instanceof ConfigError) return [problem(error.message, "Set it.")];
      const isRefused = error instanceof NodeError && error.kind === "upstream_refused";
      const remedy = isRefused
        ? "Correct 'upstream_model' or 'api_key_env' of the model, or its server's settings."
        : "Start the server, or correct the address; until then the node is not ready.";
      findings.push(problem(`${url}: ${reasonOf(error)}`, remedy));
    }
  }
  return findings;
}
