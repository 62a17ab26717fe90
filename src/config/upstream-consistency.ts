/** Rules for models that run elsewhere: they have settings that others have not, and lack some. */
import type { Problem } from "./consistency.ts";
import type { ModelConfig } from "./model-schema.ts";
import type { Config } from "./schema.ts";
import { upstreamAddress, upstreamKeyNames, upstreamKeys } from "./upstream-schema.ts";
import { addressOf, isUpstream } from "./upstream-source.ts";

/** What the configuration says itself, before the defaults are filled in. */
export interface WrittenKeys {
  /** Of each model. */
  models: readonly ReadonlySet<string>[];
}

/** These are about weights and memory of this machine. */
const localKeys = [
  "sha256",
  "quantization",
  "transcode",
  "prompt_template",
  "n_gpu_layers",
  "batch_size",
  "parallel",
  "max_queue",
  "keep_alive",
];

export const writtenKeys = ({ models }: Readonly<Record<string, unknown>>): WrittenKeys => ({
  models: Array.isArray(models) ? models.map((model) => new Set(keysOf(model))) : [],
});

/** The environment variables that hold keys of servers, as far as the file is well-formed. */
export function keyVariables(tree: unknown): string[] {
  if (typeof tree !== "object" || tree === null) return [];
  return Object.entries(tree).flatMap(([key, value]) =>
    key === "api_key_env" && typeof value === "string" ? [value] : keyVariables(value),
  );
}

const keysOf = (value: unknown): string[] =>
  typeof value === "object" && value !== null ? Object.keys(value) : [];

export function checkUpstreams(config: Config, written: WrittenKeys): Problem | undefined {
  for (const [index, model] of config.models.entries()) {
    const found = checkModel(model, written.models[index] ?? new Set());
    if (found === undefined) continue;
    const path = ["models", index, found.key];
    return { path, message: `'models[${index}].${found.key}' ${found.message}` };
  }
  return checkReranker(config);
}

interface Fault {
  key: string;
  message: string;
}

function checkModel(model: ModelConfig, written: ReadonlySet<string>): Fault | undefined {
  const { source, ctx_size: ctxSize } = model;
  if (!isUpstream(source)) {
    const key = setOf(model)[0];
    return key === undefined ? undefined : { key, message: onlyElsewhere };
  }
  if (!isAddress(source)) return { key: "source", message: wrongAddress };
  if (!model.replicas.every((url) => URL.canParse(url))) {
    return { key: "replicas", message: "must be addresses such as 'http://gpu-2:8000/v1'." };
  }
  const key = localKeys.find((name) => written.has(name));
  const elsewhere = "the model runs elsewhere, and its server decides that";
  if (key !== undefined) return { key, message: `cannot be set: ${elsewhere}; leave it out.` };
  if (ctxSize !== "auto") return undefined;
  return {
    key: "ctx_size",
    message: `cannot be 'auto': ${elsewhere}; 0 asks it, a number is less.`,
  };
}

/** A reranking model that is given by its source has no section of its own. */
function checkReranker({ retrieval: { reranker = "" } }: Config): Problem | undefined {
  if (!isUpstream(reranker) || isAddress(reranker)) return undefined;
  return { path: ["retrieval", "reranker"], message: `'retrieval.reranker' ${wrongAddress}` };
}

const onlyElsewhere =
  "is for a model that runs elsewhere, whose source begins with 'openai:'; leave it out.";

/** Those of the settings of a model elsewhere that have another value than their default. */
const setOf = (settings: Partial<ModelConfig>): string[] =>
  upstreamKeyNames.filter((key) => !isSame(settings[key], upstreamKeys[key].default));

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const isAddress = (source: string): boolean =>
  new RegExp(upstreamAddress).test(addressOf(source)) && URL.canParse(addressOf(source));

/** It may hold credentials, and is not repeated. */
const wrongAddress =
  "must be 'openai:' and an http(s):// address without credentials, such as 'openai:http://gpu-1:8000/v1'; a key goes into the variable that 'api_key_env' names.";
