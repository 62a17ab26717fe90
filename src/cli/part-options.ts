/** What a part of a node is made from, as a command has it. */
import type { Config } from "../config/schema.ts";
import type { Log } from "../core/log.ts";
import { hubFrom } from "../models/sources/hub.ts";
import { registryFrom } from "../models/sources/npm/registry-settings.ts";
import type { ModelOptions } from "../node/node-settings.ts";
import { createProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";

export const partOptions = (shell: Shell, config: Config, log: Log): ModelOptions => ({
  config,
  baseDir: shell.cwd,
  program: shell.program,
  hub: hubFrom(shell.env),
  registryOf: registryFrom(shell.env, shell.cwd),
  secretOf: (variable) => shell.env[variable],
  log,
  progress: createProgress(shell),
});
