/** What the commands about collections share: the configured home, and a collection that must be there. */
import type { Command } from "commander";
import type { Config } from "../config/schema.ts";
import { NodeError } from "../core/errors.ts";
import type { CollectionHome, PassageRepository } from "../core/ports/passage-repository.ts";
import type { PaddockNode } from "../node.ts";
import { readConfig } from "./configure.ts";
import { createLog } from "./log.ts";
import { nodeFor } from "./node-for.ts";
import type { Shell } from "./shell.ts";

interface Context {
  config: Config;
  node: PaddockNode;
  home: CollectionHome;
}

export async function withHome(
  shell: Shell,
  command: Command,
  body: (context: Context) => Promise<void>,
): Promise<void> {
  const config = await readConfig(shell, command);
  const level = config.log_level === "info" ? "warn" : config.log_level;
  await using node = nodeFor(shell, config, createLog(level, shell.isTerminal));
  await body({ config, node, home: node.collectionHome() });
}

export async function existing(home: CollectionHome, name: string): Promise<PassageRepository> {
  const repository = await home.open(name);
  if (repository !== undefined) return repository;
  const names = await home.list();
  throw new NodeError(
    "invalid_request",
    `There is no collection '${name}'. ${names.length === 0 ? "There is none at all yet; 'paddock ingest PATH' makes one." : `There are: ${names.join(", ")}.`}`,
  );
}
