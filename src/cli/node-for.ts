/** A whole node as a command runs it. */
import type { Config } from "../config/schema.ts";
import type { Log } from "../core/log.ts";
import { PaddockNode } from "../node/paddock-node.ts";
import { partOptions } from "./part-options.ts";
import type { Shell } from "./shell.ts";

export function nodeFor(shell: Shell, config: Config, log: Log): PaddockNode {
  const { version, handbook, residentMemory } = shell;
  return new PaddockNode({ ...partOptions(shell, config, log), version, handbook, residentMemory });
}
