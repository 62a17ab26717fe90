/** Rules between settings, which the schema of a single key cannot express. */
import { Value } from "@sinclair/typebox/value";
import { isLoopback, parseRange } from "../core/address-range.ts";
import {
  addressOf,
  completeModel,
  contextKeyNames,
  contextKeys,
  isUpstream,
  type ModelConfig,
  upstreamAddress,
  upstreamKeyNames,
  upstreamKeys,
} from "./model-schema.ts";
import type { Config } from "./schema.ts";

interface Problem {
  path: readonly (string | number)[];
  /** Follows the key in a sentence. */
  message: string;
}

/** `written`: the keys of each model that are set explicitly, before defaults are filled in. */
export function checkConsistency(config: Config, written: WrittenKeys): Problem | undefined {
  return (
    checkNames(config) ??
    checkModels(config, written) ??
    checkReranker(config) ??
    checkCollection(config) ??
    checkUnloading(config) ??
    checkRedis(config) ??
    checkProxies(config)
  );
}

function checkProxies({ http }: Config): Problem | undefined {
  const at = http.trusted_proxies.findIndex((text) => parseRange(text) === undefined);
  if (at === -1) return undefined;
  return {
    path: ["http", "trusted_proxies", at],
    message: `must be an address or a range, such as '192.0.2.7' or '10.0.0.0/8'; found '${http.trusted_proxies[at]}'.`,
  };
}

function checkNames({ models }: Config): Problem | undefined {
  const names = models.map(({ name }) => name);
  const index = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (index === -1) return undefined;
  return {
    path: ["models", index, "name"],
    message: `must be unique; found '${names[index]}' twice.`,
  };
}

const starters = {
  chat: ["starter:chat"],
  embedding: ["starter:embedding", "starter:embedding-gte-small"],
  reranker: [],
} as const;

function checkModels({ models }: Config, written: WrittenKeys): Problem | undefined {
  for (const [index, model] of models.entries()) {
    const keys = written[index] ?? new Set();
    const found = checkSource(model) ?? checkUpstream(model, keys) ?? checkContext(model);
    if (found === undefined) continue;
    const [key, message] = found;
    return { path: ["models", index, key], message };
  }
  return undefined;
}

type ModelProblem = [key: string, message: string];

function checkSource({ source, type, sha256 }: ModelConfig): ModelProblem | undefined {
  const isChosen = /^(auto$|starter:)/.test(source);
  if (sha256 !== undefined && isChosen) {
    return ["sha256", `is of a file that 'source' names; with '${source}' leave it out.`];
  }
  if (type === "reranker" && isChosen) {
    const why = "there is no starter model of type 'reranker'";
    return ["source", `must name a reranking model's file or server: ${why}; found '${source}'.`];
  }
  const known: readonly string[] = starters[type];
  if (source.startsWith("starter:") && !known.includes(source)) {
    const names = known.map((name) => `'${name}'`).join(" or ");
    return ["source", `must be ${names} for a starter model of type '${type}'; found '${source}'.`];
  }
  if (source.startsWith("http://") && !isLoopback(URL.parse(source)?.hostname ?? "")) {
    return ["source", "must be an https:// address; plain http is for this machine only."];
  }
  return undefined;
}

function checkContext(model: ModelConfig): ModelProblem | undefined {
  const { type, cache_type_v, flash_attention } = model;
  const key = contextKeyNames.find((name) => !Value.Equal(model[name], contextKeys[name].default));
  if (type !== "chat" && key !== undefined) {
    return [key, `is for a model of type 'chat'; found '${type}'. Leave it out.`];
  }
  if (cache_type_v === "f16" || flash_attention !== "off") return undefined;
  const why = `needs flash attention; found '${cache_type_v}' with flash_attention = 'off'`;
  return ["cache_type_v", `must be 'f16', since any other type ${why}.`];
}

function checkCollection({ models, vectorstore }: Config): Problem | undefined {
  const wanted = vectorstore.embedding_model;
  const names = models.filter(({ type }) => type === "embedding").map(({ name }) => name);
  if (wanted === undefined || names.includes(wanted)) return undefined;
  return {
    path: ["vectorstore", "embedding_model"],
    message: `must name an embedding model (${names.join(", ") || "none is configured"}); found '${wanted}'.`,
  };
}

/** Only a model that runs in a process of its own can be unloaded. */
function checkUnloading({ models, engine, models_folder }: Config): Problem | undefined {
  if (engine.isolation === "process") return undefined;
  if (models_folder.serve === "all") {
    const message =
      "loads and unloads models, which needs engine.isolation = 'process'; found 'none'.";
    return { path: ["models_folder", "serve"], message };
  }
  const index = models.findIndex(({ keep_alive }) => keep_alive >= 0);
  const path = index === -1 ? ["engine", "memory_limit"] : ["models", index, "keep_alive"];
  if (index === -1 && engine.memory_limit === 0) return undefined;
  return {
    path,
    message: "unloads models, which needs engine.isolation = 'process'; found 'none'.",
  };
}

/** A string that matches the pattern may still have an invalid port. */
function checkRedis({ shared }: Config): Problem | undefined {
  if (shared.redis === undefined || URL.canParse(shared.redis)) return undefined;
  return {
    path: ["shared", "redis"],
    message:
      "must be a redis:// or rediss:// address such as 'redis://127.0.0.1:6379'; found another value (not shown).",
  };
}

/** Whether a key is required even while none exists, because others can reach the node. */
export const alwaysWantsKeys = ({ host, auth }: Config): boolean =>
  !(isLoopback(host) || auth.open);

export function checkExposure(config: Config, hasKeys: boolean): void {
  const { host, auth } = config;
  if (!alwaysWantsKeys(config) || auth.api_keys.length > 0 || hasKeys) return;
  throw new ConfigError(
    `'host' is '${host}', which others can reach, and there is no API key. Give one out with 'paddock keys create NAME', set PADDOCK_API_KEYS (or [auth] api_keys), listen on 127.0.0.1, or write [auth] open = true to serve everyone.`,
  );
}

type WrittenKeys = readonly ReadonlySet<string>[];

/** Settings for weights and memory on this machine. */
const localKeys = [
  "sha256",
  "quantization",
  "transcode",
  "prompt_template",
  "n_gpu_layers",
  "batch_size",
  ...contextKeyNames,
  "parallel",
  "max_queue",
  "keep_alive",
];

export const writtenKeys = ({ models }: Readonly<Record<string, unknown>>): WrittenKeys =>
  Array.isArray(models) ? models.map((model) => new Set(Object.keys(Object(model)))) : [];

/** Environment variables that the file names for servers' keys, as far as it is well-formed. */
export function keyVariables(tree: unknown): string[] {
  if (typeof tree !== "object" || tree === null) return [];
  return Object.entries(tree).flatMap(([key, value]) =>
    key === "api_key_env" && typeof value === "string" ? [value] : keyVariables(value),
  );
}

/** Some settings are only for upstream models, and some only for local ones. */
function checkUpstream(model: ModelConfig, written: ReadonlySet<string>): ModelProblem | undefined {
  if (!isUpstream(model.source)) {
    const key = upstreamKeyNames.find(
      (name) => !Value.Equal(model[name], upstreamKeys[name].default),
    );
    const why = "is for an upstream model, whose source begins with 'openai:'; leave it out.";
    return key === undefined ? undefined : [key, why];
  }
  if (!isAddress(model.source)) return ["source", wrongAddress];
  if (!model.replicas.every((url) => URL.canParse(url))) {
    return ["replicas", "must be addresses such as 'http://gpu-2:8000/v1'."];
  }
  if (model.vision !== undefined && model.type !== "chat") {
    return ["vision", `is for a model of type 'chat'; found '${model.type}'. Leave it out.`];
  }
  const key = localKeys.find((name) => written.has(name));
  const why = "the upstream server decides that";
  if (key !== undefined) return [key, `cannot be set: ${why}; leave it out.`];
  if (model.ctx_size !== "auto") return undefined;
  return ["ctx_size", `cannot be 'auto': ${why}; 0 asks it, a number is less.`];
}

const isAddress = (source: string): boolean =>
  new RegExp(upstreamAddress).test(addressOf(source)) && URL.canParse(addressOf(source));

/** Does not repeat the value, which may contain credentials. */
const wrongAddress =
  "must be 'openai:' and an http(s):// address without credentials, such as 'openai:http://gpu-1:8000/v1'; a key goes into the variable that 'api_key_env' names.";

const impliedName = "reranker";

const isSource = (text: string): boolean =>
  /^(hf|npm|openai|https?):/.test(text) || /[\\/]/.test(text) || /\.gguf$/i.test(text);

/** `[retrieval] reranker` is a model's name, or a source; the model is then called `reranker`. */
function checkReranker(config: Config): Problem | undefined {
  const { models, retrieval } = config;
  const { reranker } = retrieval;
  if (reranker === undefined) return undefined;
  const path = ["retrieval", "reranker"];
  const named = models.find(({ name }) => name === reranker);
  if (named?.type === "reranker") return undefined;
  if (named !== undefined || !isSource(reranker)) {
    const names = models.filter(({ type }) => type === "reranker").map(({ name }) => name);
    const found = named === undefined ? "" : `, a model of type '${named.type}'`;
    return {
      path,
      message: `must name a model of type 'reranker' (${names.join(", ") || "none is configured"}), or be the source of one, such as './reranker.gguf'; found '${reranker}'${found}.`,
    };
  }
  if (isUpstream(reranker) && !isAddress(reranker)) {
    return { path, message: wrongAddress };
  }
  if (!models.some(({ name }) => name === impliedName)) return undefined;
  return {
    path,
    message: `is the source of a model that would be called '${impliedName}', and [[models]] has one of that name. Give the source a section of its own with type = "reranker", and write its name here.`,
  };
}

/** Adds a model section for a reranker that is configured by its source alone. */
export function withRerankerModel(config: Config): Config {
  const { models, retrieval } = config;
  const { reranker: source } = retrieval;
  if (source === undefined || models.some(({ name }) => name === source)) return config;
  const model = completeModel({ name: impliedName, type: "reranker", source });
  return {
    ...config,
    // The server is asked for its own name of the model.
    models: [...models, isUpstream(source) ? { ...model, upstream_model: "" } : model],
    retrieval: { ...retrieval, reranker: impliedName },
  };
}

/** An invalid configuration. The message names the place, the key, the value and what is valid. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
