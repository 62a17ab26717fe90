/** From the command line, the environment and the file to the configuration, for every command. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { ConfigError } from "../config/config-error.ts";
import { loadConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { settings } from "../config/settings.ts";
import { reasonOf } from "../core/errors.ts";
import type { Shell } from "./shell.ts";

const defaultFile = "paddock.toml";

/** Adds --config and an option for every setting that the command line may give. */
export function addConfigOptions(command: Command): Command {
  command.option("--config <file>", `configuration file (default: ${defaultFile}, if it is there)`);
  for (const { flag, help } of settings) {
    if (flag !== undefined) command.option(`--${flag} <value>`, help);
  }
  return command;
}

export async function readConfig(shell: Shell, command: Command): Promise<Config> {
  const options: Record<string, string | undefined> = command.opts();
  const named = options.config ?? shell.env.PADDOCK_CONFIG;
  const file = await readConfigFile(shell.cwd, named);
  const flags: Record<string, string | undefined> = {};
  for (const { flag } of settings) {
    if (flag !== undefined) flags[flag] = options[camelCase(flag)];
  }
  return loadConfig({ ...(file === undefined ? {} : { file }), env: shell.env, flags });
}

async function readConfigFile(
  cwd: string,
  named: string | undefined,
): Promise<{ path: string; text: string } | undefined> {
  const path = named ?? defaultFile;
  try {
    return { path, text: await readFile(resolve(cwd, path), "utf8") };
  } catch (cause) {
    if (named === undefined) return undefined;
    throw new ConfigError(`${path}: the configuration file cannot be read: ${reasonOf(cause)}`);
  }
}

/** As commander names the value of `--data-dir`. */
const camelCase = (flag: string): string =>
  flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
