/** What the commands about collections share: the configured store, and a collection that must be there. */
import type { Command } from "commander";
import type { Config } from "../config/schema.ts";
import { NodeError } from "../core/errors.ts";
import type { CollectionStore, PassageRepository } from "../core/ports/passage-repository.ts";
import type { PaddockNode } from "../node/paddock-node.ts";
import { readConfig } from "./configure.ts";
import { createLog } from "./log.ts";
import { nodeFor } from "./node-for.ts";
import type { Shell } from "./shell.ts";

interface Context {
  config: Config;
  node: PaddockNode;
  store: CollectionStore;
}

export async function withCollectionStore(
  shell: Shell,
  command: Command,
  body: (context: Context) => Promise<void>,
): Promise<void> {
  const config = await readConfig(shell, command);
  const level = config.log_level === "info" ? "warn" : config.log_level;
  await using node = nodeFor(shell, config, createLog(level, shell.isTerminal));
  await body({ config, node, store: node.collectionStore() });
}

export async function existing(store: CollectionStore, name: string): Promise<PassageRepository> {
  const repository = await store.open(name);
  if (repository !== undefined) return repository;
  const names = await store.list();
  throw new NodeError(
    "invalid_request",
    `There is no collection '${name}'. ${names.length === 0 ? "There is none at all yet; 'paddock ingest PATH' makes one." : `There are: ${names.join(", ")}.`}`,
  );
}
