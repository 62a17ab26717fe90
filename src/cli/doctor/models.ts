/** Whether each model's file is here, whole, what it is configured as, and small enough for this machine. */
import { access, constants } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ModelConfig } from "../../config/schema.ts";
import { chooseSettings } from "../../core/auto-settings.ts";
import { byteSize } from "../../core/byte-size.ts";
import { reasonOf } from "../../core/errors.ts";
import type { Machine } from "../../core/machine.ts";
import { estimateMemory, type ModelFacts } from "../../core/model-memory.ts";
import { transcodedName } from "../../core/quantization.ts";
import { readMachineMemory } from "../../engine/machine-memory.ts";
import { threadBudget } from "../../engine/threads.ts";
import { starterChat } from "../../models/catalog.ts";
import { modelsFolder } from "../../models/models-folder.ts";
import { isRemote } from "../../models/sources/download.ts";
import { findSource } from "../../models/sources/resolve.ts";
import { checkStarterParts } from "../../models/sources/starter.ts";
import { toQuantization } from "../../node-settings.ts";
import { chosenModel } from "../model-rows.ts";
import { type Finding, note, ok, type Patient, problem } from "./finding.ts";

/** A model that can be loaded as it is. */
export interface FoundModel {
  model: ModelConfig;
  /** The file that is loaded. */
  path: string;
  facts: ModelFacts;
  /** Bytes, once it is loaded. */
  memory: number;
}

export interface ModelFindings {
  findings: Finding[];
  found: FoundModel[];
}

export async function checkModels(patient: Patient): Promise<ModelFindings> {
  const results: ModelFindings = { findings: [], found: [] };
  const machine = await readMachineMemory();
  for (const configured of patient.config.models) {
    const model = await chosenModel(configured, modelsFolder(patient.dataDir), machine);
    const result = await checkModel(patient, model, machine);
    results.findings.push(...result.findings);
    results.found.push(...result.found);
  }
  if (patient.config.retrieval.reranker !== undefined) {
    results.findings.push(await checkReranker(patient, patient.config.retrieval.reranker));
  }
  if (results.found.length > 0) results.findings.push(checkMemory(results.found, machine));
  return results;
}

async function checkModel(
  patient: Patient,
  model: ModelConfig,
  machine: Machine,
): Promise<ModelFindings> {
  const check = `model ${model.name}`;
  const only = (finding: Finding): ModelFindings => ({ findings: [finding], found: [] });
  const source = await locate(patient, model.source);
  if (source === undefined) return only(absent(check, model.source, model.type));
  const damage = await damageOf(source, model.source);
  if (damage !== undefined) return only(problem(check, damage.message, damage.remedy));
  const path = await formOf(patient, model, source);
  const { readModelFacts } = await import("../../engine/model-facts.ts");
  const facts = await readModelFacts(path);
  const misfit = misfitOf(model, facts);
  if (misfit !== undefined) return only(problem(check, misfit.message, misfit.remedy));
  const parallel = model.type === "chat" ? model.parallel : (await threadBudget(0)).threads;
  const { ctxSize: contextSize, batchSize } = chooseSettings({
    facts,
    machine,
    parallel,
    wanted: {
      ctxSize: model.ctx_size,
      batchSize: model.batch_size,
      nGpuLayers: model.n_gpu_layers,
    },
  });
  const { total } = estimateMemory(facts, { contextSize, parallel, batchSize });
  const message = `${basename(path)} is whole: ${facts.architecture}, ${facts.quantization}, ${byteSize(facts.bytes)}; takes about ${byteSize(total)} of memory.`;
  return { findings: [ok(check, message)], found: [{ model, path, facts, memory: total }] };
}

async function checkReranker(patient: Patient, source: string): Promise<Finding> {
  const check = "reranker";
  const path = await locate(patient, source);
  if (path === undefined) return absent(check, source, "reranker");
  const damage = await damageOf(path, source);
  if (damage !== undefined) return problem(check, damage.message, damage.remedy);
  const { readModelFacts } = await import("../../engine/model-facts.ts");
  const { kind } = await readModelFacts(path);
  return kind === "reranker"
    ? ok(check, `${basename(path)} is whole.`)
    : problem(
        check,
        `${basename(path)} is a model for ${kind}, not one that ranks.`,
        "Name a reranking model under [retrieval] reranker, or take the key away.",
      );
}

async function locate({ dataDir, baseDir }: Patient, source: string): Promise<string | undefined> {
  return await findSource(source, { folder: modelsFolder(dataDir), baseDir });
}

function absent(check: string, source: string, type: ModelConfig["type"] | "reranker"): Finding {
  if (isRemote(source)) {
    return note(
      check,
      `'${source}' is not on this machine; the first start downloads it.`,
      "Start the node where it has the network, or name a file.",
    );
  }
  if (!source.startsWith("starter:") || type === "reranker") {
    return problem(
      check,
      `The model file '${source}' does not exist.`,
      "Correct the model's 'source': the path of a GGUF file, from the folder where the node is started.",
    );
  }
  try {
    checkStarterParts(type);
    return ok(check, "The starter model is put together at the first start.");
  } catch (error) {
    return problem(check, "The starter model is not there.", reasonOf(error));
  }
}

interface Fault {
  message: string;
  remedy: string;
}

const getAgain = "Get the file again, from where it came.";

async function damageOf(path: string, source: string): Promise<Fault | undefined> {
  const file = basename(path);
  try {
    await access(path, constants.R_OK);
  } catch {
    return {
      message: `${file} cannot be read by this user.`,
      remedy: `Give the node's user the right to: chmod a+r ${path}`,
    };
  }
  try {
    const { missingBytes } = await import("../../engine/missing-bytes.ts");
    const missing = await missingBytes(path);
    if (missing > 0) {
      return { message: `${file} is cut off: ${byteSize(missing)} are missing.`, remedy: getAgain };
    }
  } catch (error) {
    return { message: `${file} is not a GGUF file: ${reasonOf(error)}.`, remedy: getAgain };
  }
  if (source !== "starter:chat" || (await sha256Of(path)) === starterChat.sha256) return undefined;
  return {
    message: `${file} is not what it was when it was made (its sha256 differs).`,
    remedy: `Remove ${path}; the next start makes it anew.`,
  };
}

async function sha256Of(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}

/** The transcoded file where it is made already; it is what the node loads. */
async function formOf({ dataDir }: Patient, model: ModelConfig, path: string): Promise<string> {
  const type = toQuantization(model);
  if (type === undefined) return path;
  const made = join(modelsFolder(dataDir), transcodedName(basename(path), type));
  return (await Bun.file(made).exists()) ? made : path;
}

function misfitOf(
  { name, type, ctx_size: wanted }: ModelConfig,
  facts: ModelFacts,
): Fault | undefined {
  if (type === "chat" && facts.kind !== "chat") {
    return {
      message: `It is configured to chat, but its file is a model for ${facts.kind === "reranker" ? "ranking" : "embeddings"}.`,
      remedy:
        facts.kind === "reranker"
          ? "Name it under [retrieval] reranker, and another model here."
          : `Set type = "embedding" for '${name}', or name another source.`,
    };
  }
  if (wanted === "auto" || wanted <= facts.trainContext || facts.trainContext === 0) {
    return undefined;
  }
  return {
    message: `ctx_size is ${wanted}, but it was trained on ${facts.trainContext} tokens.`,
    remedy: `Set ctx_size = ${facts.trainContext} or less; 0 takes what fits.`,
  };
}

function checkMemory(
  found: readonly FoundModel[],
  { memory: total, availableMemory: free }: Machine,
): Finding {
  const check = "memory";
  const wanted = found.reduce((sum, { memory }) => sum + memory, 0);
  const words = `The models take about ${byteSize(wanted)}; this machine has ${byteSize(total)}, of which ${byteSize(free)} are free.`;
  const smaller = "Take smaller models, or lower 'parallel' and 'ctx_size'";
  if (wanted > total) return problem(check, words, `${smaller}.`);
  if (wanted > free) return note(check, words, `${smaller}, or end other programs.`);
  return ok(check, words);
}
