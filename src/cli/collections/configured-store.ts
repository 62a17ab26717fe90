/** What the commands about collections share: the configured store, and a collection that must be there. */
import type { Command } from "commander";
import type { Config } from "../../config/schema.ts";
import { NodeError } from "../../core/errors.ts";
import type { CollectionStore, PassageRepository } from "../../core/ports/passage-repository.ts";
import { collectionStore } from "../../node/documents/open-collection.ts";
import type { ModelOptions } from "../../node/node-settings.ts";
import { nodeOptions, readConfig } from "../command-options.ts";
import { createCommandLog } from "../log.ts";
import type { Shell } from "../shell.ts";

interface Context {
  config: Config;
  store: CollectionStore;
  /** What other stores, and the embedding model, are opened with. */
  options: ModelOptions;
}

export async function withCollectionStore(
  shell: Shell,
  command: Command,
  body: (context: Context) => Promise<void>,
): Promise<void> {
  const config = await readConfig(shell, command);
  const options = nodeOptions(shell, config, createCommandLog(config, shell.isTerminal));
  await body({ config, options, store: collectionStore(options) });
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
