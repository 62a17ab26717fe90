/** A node as a command runs it: what the process knows, with the command's own configuration and log. */
import type { Config } from "../config/schema.ts";
import type { Log } from "../core/log.ts";
import { hubFrom } from "../models/sources/hub.ts";
import { registryFrom } from "../models/sources/npm/registry-settings.ts";
import { PaddockNode } from "../node/paddock-node.ts";
import { createProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";

export function nodeFor(shell: Shell, config: Config, log: Log): PaddockNode {
  return new PaddockNode({
    config,
    baseDir: shell.cwd,
    program: shell.program,
    version: shell.version,
    handbook: shell.handbook,
    hub: hubFrom(shell.env),
    registryOf: registryFrom(shell.env, shell.cwd),
    log,
    progress: createProgress(shell),
    residentMemory: shell.residentMemory,
  });
}
