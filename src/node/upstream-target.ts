/** What a model of the configuration that runs elsewhere is asked with: its addresses, its name there, its key. */
import { ConfigError } from "../config/config-error.ts";
import type { ModelConfig } from "../config/model-schema.ts";
import { upstreamUrls } from "../config/upstream-source.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { probeServer } from "../upstream/probe-server.ts";
import type { UpstreamTarget } from "../upstream/upstream-target.ts";
import { ModelReplicas } from "./model-replicas.ts";

/** The value of an environment variable. */
export type SecretOf = (variable: string) => string | undefined;

/** What of a model's settings is about where it runs. */
export type UpstreamSettings = Pick<
  ModelConfig,
  "name" | "source" | "replicas" | "upstream_model" | "api_key_env" | "upstream_timeout"
>;

export interface TargetOptions {
  secretOf?: SecretOf;
  /** Where its replicas are opened; default: apart from all others. */
  replicas?: ModelReplicas;
  log: Log;
}

/** Throws a ConfigError where the key is not there; its replicas are the caller's to dispose of. */
export function toUpstreamTarget(
  settings: UpstreamSettings,
  { secretOf, log, replicas = new ModelReplicas({ log }) }: TargetOptions,
): UpstreamTarget & { replicas: Disposable } {
  const { name, upstream_model: upstreamModel } = settings;
  const named = `the model '${name}'`;
  const key = keyOf(named, settings.api_key_env, secretOf);
  return {
    named,
    upstreamModel: upstreamModel ?? name,
    silenceMs: settings.upstream_timeout * 1000,
    replicas: replicas.open({
      name,
      named,
      urls: upstreamUrls(settings),
      probe: probeServer(key),
    }),
    log,
    ...given({ key }),
  };
}

function keyOf(
  named: string,
  variable: string | undefined,
  secretOf: SecretOf | undefined,
): string | undefined {
  if (variable === undefined) return undefined;
  // What a file or a command put there may end in a line break.
  const key = secretOf?.(variable)?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new ConfigError(
    `The environment variable ${variable} ${key === "" ? "is not set" : "holds what is no key"}: 'api_key_env' of ${named} says that it holds the key of its server.`,
  );
}
