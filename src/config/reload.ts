/** Plans a configuration reload: which changes apply at once, and which need a restart. */
import { Value } from "@sinclair/typebox/value";
import { formatPath, isObject } from "../validation/violation.ts";
import { isUpstream, type ModelConfig } from "./model-schema.ts";
import type { Config } from "./schema.ts";

export interface ReloadPlan {
  /** The configuration after the reload. */
  config: Config;
  /** Names of the applied keys. Without values, which may be secrets. */
  changed: string[];
  /** Names of the keys that change only after a restart. */
  needsRestart: string[];
}

export function planReload(running: Config, read: Config): ReloadPlan {
  const config: Config = {
    ...running,
    log_level: read.log_level,
    limits: read.limits,
    models: running.models.map((model) => withAddresses(model, read.models)),
  };
  return {
    config,
    changed: changedKeys(running, config),
    needsRestart: changedKeys(config, read),
  };
}

/** Updates the addresses of a model that is and stays upstream. */
function withAddresses(running: ModelConfig, models: readonly ModelConfig[]): ModelConfig {
  const read = models.find(({ name }) => name === running.name);
  if (read === undefined || !isUpstream(running.source) || !isUpstream(read.source)) return running;
  return { ...running, source: read.source, replicas: read.replicas };
}

/** Names of the keys that differ. Models are matched by name. */
function changedKeys(before: Config, after: Config): string[] {
  const names = (config: Config): string[] => config.models.map(({ name }) => name);
  const shared = names(before).filter((name) => names(after).includes(name));
  const isReordered = !Value.Equal(
    shared,
    names(after).filter((name) => shared.includes(name)),
  );
  return [
    ...differences(withModelsByName(before), withModelsByName(after), []),
    ...(isReordered ? ["the order of models"] : []),
  ];
}

const withModelsByName = (config: Config): object => ({
  ...config,
  models: Object.fromEntries(config.models.map((model) => [model.name, model])),
});

function differences(before: unknown, after: unknown, path: readonly string[]): string[] {
  if (Value.Equal(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [formatPath(path)];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], [...path, key]));
}
