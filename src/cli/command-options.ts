/** Shared by commands: options, examples, reading the configuration, and the options of a node. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { ConfigError } from "../config/consistency.ts";
import { loadConfig, secretsIn } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { helpOf, settings } from "../config/settings.ts";
import { reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { hubFrom } from "../models/sources/hub-reference.ts";
import { registryFrom } from "../models/sources/npm/registry-settings.ts";
import { everyone, type ModelOptions, openRightsOf } from "../node/node-settings.ts";
import { createCommandLog } from "./log.ts";
import { createProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";

export const defaultFile = "paddock.toml";

export const settingsGroup = "Settings (over the environment and the file):";

/** Adds --config and an option for every setting that has one. */
export function addConfigOptions(command: Command): Command {
  const config = `configuration file (default: ${defaultFile}, if it is there)`;
  command.addOption(new Option("--config <file>", config).helpGroup(settingsGroup));
  return addSettingOptions(command);
}

export function addSettingOptions(command: Command): Command {
  for (const setting of settings) {
    const { flag, choices } = setting;
    if (flag === undefined) continue;
    const option = new Option(`--${flag} <value>`, helpOf(setting)).helpGroup(settingsGroup);
    // For help and completions. Values are validated with the configuration, whatever their origin.
    if (choices.length > 0) option.argChoices = [...choices];
    command.addOption(option);
  }
  return command;
}

export async function readConfig(shell: Shell, command: Command): Promise<Config> {
  return configFrom(shell, command, await readConfigFile(shell, command));
}

interface ConfigFile {
  path: string;
  text: string;
}

/** Reads the configuration again from the same places; throws if the file is gone. */
export async function readConfigAgain(
  shell: Shell,
  command: Command,
  before: ConfigFile | undefined,
): Promise<Config> {
  const file = await readConfigFile(shell, command);
  if (before !== undefined && file === undefined) {
    throw new ConfigError(`${before.path}: the configuration file is not there any more.`);
  }
  return configFrom(shell, command, file);
}

export function configFrom({ env }: Shell, command: Command, file: ConfigFile | undefined): Config {
  return loadConfig({ ...given({ file }), env, flags: settingFlags(command) });
}

export function settingFlags(command: Command): Record<string, string | undefined> {
  const options: Record<string, string | undefined> = command.opts();
  const flags = settings.flatMap(({ flag }) => flag ?? []);
  return Object.fromEntries(flags.map((flag) => [flag, options[camelCase(flag)]]));
}

/** The configuration file; undefined if none is named and the default does not exist. */
export async function readConfigFile(
  { cwd, env }: Shell,
  command: Command,
): Promise<ConfigFile | undefined> {
  const { config }: { config?: string } = command.opts();
  const named = config ?? env.PADDOCK_CONFIG;
  const path = named ?? defaultFile;
  try {
    return { path, text: await readFile(resolve(cwd, path), "utf8") };
  } catch (cause) {
    if (named === undefined) return undefined;
    throw new ConfigError(`${path}: the configuration file cannot be read: ${reasonOf(cause)}`);
  }
}

export type OpenSecrets = ReturnType<typeof openSecretsIn>;

/** The names of the secrets in a configuration file that everyone on the machine can read, if any. */
export function openSecretsIn({ cwd }: Shell, file: ConfigFile | undefined) {
  if (file === undefined) return undefined;
  const path = resolve(cwd, file.path);
  const keys = secretsIn(file);
  const rights = keys.length === 0 ? undefined : openRightsOf(path, everyone);
  return rights === undefined ? undefined : { path, keys, rights };
}

/** Commander's name for the value of `--data-dir`. */
const camelCase = (flag: string): string =>
  flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const examples = new WeakMap<Command, readonly string[]>();

/** Adds example command lines to the help and the reference. */
export function addExamples(command: Command, ...lines: readonly string[]): Command {
  examples.set(command, lines);
  const heading = lines.length === 1 ? "Example" : "Examples";
  const indented = lines.map((line) => `\n  ${line}`).join("");
  return command.addHelpText("after", `\n${heading}:${indented}`);
}

export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? [];

/** Options to open a node, or a part of one; default log: that of a command other than `serve`. */
export const nodeOptions = (
  shell: Shell,
  config: Config,
  log: Log = createCommandLog(config, shell.isTerminal),
): ModelOptions => ({
  config,
  baseDir: shell.cwd,
  program: shell.program,
  hub: hubFrom(shell.env),
  registryOf: registryFrom(shell.env, shell.cwd),
  secretOf: (variable) => shell.env[variable],
  log,
  progress: createProgress(shell),
});
