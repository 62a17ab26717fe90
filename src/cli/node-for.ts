/** A whole node as a command runs it. */
import type { Config } from "../config/schema.ts";
import type { Log } from "../core/log.ts";
import { PaddockNode } from "../node/paddock-node.ts";
import { partOptions } from "./part-options.ts";
import type { Shell } from "./shell.ts";

export async function nodeFor(shell: Shell, config: Config, log: Log): Promise<PaddockNode> {
  const { version, handbook, residentMemory } = shell;
  const options = partOptions(shell, config, log);
  return await PaddockNode.create({ ...options, version, handbook, residentMemory });
}
