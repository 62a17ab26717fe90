/** Rules between settings, which the schema of a single key cannot express. */

import { parseRange } from "../core/address-range.ts";
import { isLoopback } from "../core/loopback.ts";
import { formatPath } from "../validation/violation.ts";
import { ConfigError } from "./config-error.ts";
import { checkReranker } from "./reranker-model.ts";
import type { Config } from "./schema.ts";
import { checkUpstreams, type WrittenKeys } from "./upstream-consistency.ts";

export interface Problem {
  path: readonly (string | number)[];
  message: string;
}

/** `written`: what the configuration says itself, before the defaults are filled in. */
export function checkConsistency(config: Config, written: WrittenKeys): Problem | undefined {
  return (
    checkNames(config) ??
    checkSources(config) ??
    checkReranker(config) ??
    checkUpstreams(config, written) ??
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
    message: `'http.trusted_proxies[${at}]' must be an address or a range, such as '192.0.2.7' or '10.0.0.0/8'; found '${http.trusted_proxies[at]}'.`,
  };
}

function checkNames({ models }: Config): Problem | undefined {
  const names = models.map(({ name }) => name);
  const index = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (index === -1) return undefined;
  return {
    path: ["models", index, "name"],
    message: `'models[${index}].name' must be unique; found '${names[index]}' twice.`,
  };
}

const starters = {
  chat: ["starter:chat"],
  embedding: ["starter:embedding", "starter:embedding-gte-small"],
  reranker: [],
} as const;

function checkSources({ models }: Config): Problem | undefined {
  for (const [index, { source, type, sha256 }] of models.entries()) {
    if (sha256 !== undefined && /^(auto$|starter:)/.test(source)) {
      return {
        path: ["models", index, "sha256"],
        message: `'models[${index}].sha256' is of a file that 'source' names; with '${source}' leave it out.`,
      };
    }
    if (type === "reranker" && /^(auto$|starter:)/.test(source)) {
      return {
        path: ["models", index, "source"],
        message: `'models[${index}].source' must name a reranking model's file or server: there is no starter model of type 'reranker'; found '${source}'.`,
      };
    }
    const known: readonly string[] = starters[type];
    if (source.startsWith("starter:") && !known.includes(source)) {
      return {
        path: ["models", index, "source"],
        message: `'models[${index}].source' must be ${known.map((name) => `'${name}'`).join(" or ")} for a starter model of type '${type}'; found '${source}'.`,
      };
    }
    if (source.startsWith("http://") && !isLoopback(URL.parse(source)?.hostname ?? "")) {
      return {
        path: ["models", index, "source"],
        message: `'models[${index}].source' must be an https:// address; plain http is for this machine only.`,
      };
    }
  }
  return undefined;
}

function checkCollection({ models, vectorstore }: Config): Problem | undefined {
  const wanted = vectorstore.embedding_model;
  const names = models.filter(({ type }) => type === "embedding").map(({ name }) => name);
  if (wanted === undefined || names.includes(wanted)) return undefined;
  return {
    path: ["vectorstore", "embedding_model"],
    message: `'vectorstore.embedding_model' must name an embedding model (${names.join(", ") || "none is configured"}); found '${wanted}'.`,
  };
}

/** Only a model that runs in a process of its own can be unloaded. */
function checkUnloading({ models, engine }: Config): Problem | undefined {
  if (engine.isolation === "process") return undefined;
  const index = models.findIndex(({ keep_alive }) => keep_alive >= 0);
  const path = index === -1 ? ["engine", "memory_limit"] : ["models", index, "keep_alive"];
  if (index === -1 && engine.memory_limit === 0) return undefined;
  return {
    path,
    message: `'${formatPath(path)}' unloads models, which needs engine.isolation = 'process'; found 'none'.`,
  };
}

/** What looks like an address may have a port that there is not. */
function checkRedis({ shared }: Config): Problem | undefined {
  if (shared.redis === undefined || URL.canParse(shared.redis)) return undefined;
  return {
    path: ["shared", "redis"],
    message:
      "'shared.redis' must be a redis:// or rediss:// address such as 'redis://127.0.0.1:6379'; found another value (not shown).",
  };
}

/** Whether nobody may come in without a key, even while there is none: others can reach the node. */
export const alwaysWantsKeys = ({ host, auth }: Config): boolean =>
  !(isLoopback(host) || auth.open);

/** Refuses to serve strangers without a key; `hasKeys`: whether keys were given out. */
export function checkExposure(config: Config, hasKeys: boolean): void {
  const { host, auth } = config;
  if (!alwaysWantsKeys(config) || auth.api_keys.length > 0 || hasKeys) return;
  throw new ConfigError(
    `'host' is '${host}', which others can reach, and there is no API key. Give one out with 'paddock keys create NAME', set PADDOCK_API_KEYS (or [auth] api_keys), listen on 127.0.0.1, or write [auth] open = true to serve everyone.`,
  );
}
