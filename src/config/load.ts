/** Loads and validates the configuration (file, environment, command line, in rising precedence), and plans its reload. */
import { Value } from "@sinclair/typebox/value";
import { closest, distance } from "fastest-levenshtein";
import { parse as parseToml, TomlError } from "smol-toml";
import { findViolation, formatPath, isObject } from "../validation/violation.ts";
import {
  ConfigError,
  checkConsistency,
  keyVariables,
  withRerankerModel,
  writtenKeys,
} from "./consistency.ts";
import { isUpstream, type ModelConfig } from "./model-schema.ts";
import { Config } from "./schema.ts";
import { mayHoldSecret, type Setting, settings, valueAt } from "./settings.ts";

export interface ConfigSources {
  file?: { path: string; text: string };
  /** Environment variables; only those that start with PADDOCK_ count. */
  env: Readonly<Record<string, string | undefined>>;
  flags: Readonly<Record<string, string | undefined>>;
}

type Tree = Record<string, unknown>;

export function loadConfig({ file, env: all, flags }: ConfigSources): Config {
  const foreign = serviceVariables(all);
  const env = Object.fromEntries(Object.entries(all).filter(([name]) => !foreign.includes(name)));
  const tree: Tree = file === undefined ? {} : parseFile(file.path, file.text);
  const origins = new Map<string, string>();
  rejectUnknownVariables(env, keyVariables(tree));
  for (const setting of settings) {
    setFrom(tree, origins, setting, env[setting.env], `environment variable ${setting.env}`);
    if (setting.flag === undefined) continue;
    setFrom(tree, origins, setting, flags[setting.flag], `option --${setting.flag}`);
  }
  // With `source = "auto"`, sizes default to `auto` too.
  if (Array.isArray(tree.models)) {
    tree.models = tree.models.map((model: unknown) =>
      isObject(model) && model.source === "auto" ? { ...auto, ...model } : model,
    );
  }
  const hasSections = tree.models !== undefined;
  const written = writtenKeys(tree);
  const value = Value.Default(Config, tree);
  const violation = findViolation(Config, value);
  const place = (path: readonly (string | number)[]): string =>
    path
      .map((_, at) => origins.get(formatPath(path.slice(0, path.length - at))))
      .find((origin) => origin !== undefined) ??
    file?.path ??
    "configuration";
  if (violation !== undefined) {
    const key = formatPath(violation.path);
    if (violation.kind === "unknown") {
      throw new ConfigError(
        `${place(violation.path)}: unknown key '${key}'.${suggest(String(violation.path.at(-1)), violation.knownKeys)}`,
      );
    }
    const found = mayHoldSecret(violation.path) ? "another value (not shown)" : violation.found;
    throw new ConfigError(
      `${place(violation.path)}: '${key}' must be ${violation.expected}; found ${found}.`,
    );
  }
  const config = Value.Decode(Config, value);
  const problem = checkConsistency(config, written);
  if (problem !== undefined) {
    const { path, message } = problem;
    throw new ConfigError(`${place(path)}: '${formatPath(path)}' ${message}`);
  }
  const { models_folder: folder } = config;
  const serve = servedOf(config, hasSections);
  return withRerankerModel({ ...config, models_folder: { ...folder, serve } });
}

/** `auto` stays only where starter models give way to those of the folder: without sections. */
function servedOf({ models_folder: { serve }, engine }: Config, hasSections: boolean) {
  if (serve === "none" || hasSections) return serve === "all" ? serve : "none";
  // Without processes, models cannot be unloaded.
  return engine.isolation === "process" ? "auto" : "none";
}

function parseFile(path: string, text: string): Tree {
  try {
    return parseToml(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason] = error.message.split("\n");
    throw new ConfigError(`${path}:${error.line}:${error.column}: not valid TOML: ${reason}`);
  }
}

export function secretsIn({ path, text }: { path: string; text: string }): string[] {
  const tree = parseFile(path, text);
  return settings.flatMap(({ flag, path: key }) => {
    return flag === undefined && holdsSecret(valueAt(tree, key)) ? [formatPath(key)] : [];
  });
}

function holdsSecret(value: unknown): boolean {
  if (typeof value !== "string") return Array.isArray(value) && value.length > 0;
  // An address is secret only if it has a password.
  return value.includes("://") ? URL.parse(value)?.password !== "" : value !== "";
}

function setFrom(
  tree: Tree,
  origins: Map<string, string>,
  { path, parse }: Setting,
  text: string | undefined,
  origin: string,
): void {
  if (text === undefined) return;
  const [head = "", leaf] = path;
  const parsed = parse(text);
  if (leaf === undefined) {
    tree[head] = parsed;
  } else {
    const section = tree[head] ?? {};
    if (!isObject(section)) return; // the schema reports it
    tree[head] = { ...section, [leaf]: parsed };
  }
  origins.set(formatPath(path), origin);
}

/** Variables that belong to the process or to the tests rather than to the configuration. */
const otherVariables = /^PADDOCK_(CONFIG$|CACHE_DIR$|KEY$|TEST_)/;

/** `named`: variables that the file names as holding keys. */
function rejectUnknownVariables(env: ConfigSources["env"], named: readonly string[]): void {
  const known = settings.map((setting) => setting.env);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("PADDOCK_") || otherVariables.test(name)) continue;
    if (known.includes(name) || named.includes(name)) continue;
    throw new ConfigError(
      `environment variable ${name}: Paddock has no such setting.${suggest(name, known)}`,
    );
  }
}

function suggest(found: string, known: readonly string[]): string {
  const nearest = closest(found, known);
  return distance(found, nearest) <= Math.max(2, found.length / 3)
    ? ` Did you mean '${nearest}'?`
    : ` Known are: ${known.join(", ")}.`;
}

const auto = { ctx_size: "auto" };

const address = /^[0-9a-f]*[.:][0-9a-f.:]+$/i;
const number = /^\d+$/;
const link = /^(tcp|udp|sctp):\/\/\S+:\d+$/i;
const protocol = /^(tcp|udp|sctp)$/i;

/** Suffixes of a Service's variables, and patterns of their values. Both must match. */
const forms: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/_SERVICE_HOST$/, address],
  [/_SERVICE_PORT(_[A-Z0-9_]+)?$/, number],
  [/_PORT$/, link],
  [/_PORT_\d+_(TCP|UDP|SCTP)$/, link],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PROTO$/, protocol],
  [/_PORT_\d+_(TCP|UDP|SCTP)_PORT$/, number],
  [/_PORT_\d+_(TCP|UDP|SCTP)_ADDR$/, address],
];

/** Variables that Kubernetes sets in every pod for a Service called `paddock`: they are no settings. */
export const serviceVariables = (env: ConfigSources["env"]): string[] =>
  Object.entries(env).flatMap(([name, value = ""]) =>
    name.startsWith("PADDOCK_") &&
    forms.some(([ending, form]) => ending.test(name) && form.test(value))
      ? [name]
      : [],
  );

/** The names of the keys that change at once, and of those that need a restart; values may be secrets. */
export function planReload(running: Config, read: Config) {
  const config: Config = {
    ...running,
    log_level: read.log_level,
    limits: read.limits,
    models: running.models.map((model) => withAddresses(model, read.models)),
  };
  return { config, changed: changedKeys(running, config), needsRestart: changedKeys(config, read) };
}

function withAddresses(running: ModelConfig, models: readonly ModelConfig[]): ModelConfig {
  const read = models.find(({ name }) => name === running.name);
  if (read === undefined || !isUpstream(running.source) || !isUpstream(read.source)) return running;
  return { ...running, source: read.source, replicas: read.replicas };
}

function changedKeys(before: Config, after: Config): string[] {
  const names = (config: Config): string[] => config.models.map(({ name }) => name);
  const shared = names(before).filter((name) => names(after).includes(name));
  const reordered = names(after).filter((name) => shared.includes(name));
  return [
    ...differences(withModelsByName(before), withModelsByName(after), []),
    ...(Value.Equal(shared, reordered) ? [] : ["the order of models"]),
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
