/** A node that has prepared nothing, says nothing and has no handbook. */
import { loadConfig } from "../../src/config/load.ts";
import { type NodeOptions, PaddockNode } from "../../src/node/paddock-node.ts";
import type { Program } from "../../src/subprocess/program.ts";
import { silentLog, silentProgress } from "./silence.ts";

export interface BareNodeOptions {
  env?: Record<string, string>;
  /** The configuration file's text. */
  toml?: string;
  baseDir?: string;
  /** What is started as a process of its own; default: nothing can be. */
  program?: Program;
}

export const bareNode = async (options?: BareNodeOptions): Promise<PaddockNode> =>
  await PaddockNode.create(bareNodeOptions(options));

/** What it, or a part of it, is made from. */
export function bareNodeOptions({
  env = {},
  toml = "",
  baseDir = ".",
  program = { command: [], env: {} },
}: BareNodeOptions = {}): NodeOptions {
  return {
    config: loadConfig({
      file: { path: "paddock.toml", text: toml },
      // What it does is the same where models have processes of their own, and starts sooner.
      env: { PADDOCK_ISOLATION: "none", ...env },
      flags: {},
    }),
    baseDir,
    program,
    secretOf: (variable) => env[variable],
    version: "0.0.0",
    handbook: async () => [],
    log: silentLog,
    progress: silentProgress,
    residentMemory: () => 0,
  };
}
