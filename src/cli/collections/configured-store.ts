/** Helpers for the collection commands: opens the store, finds a collection, embeds passages. */
import type { Command } from "commander";
import type { Config } from "../../config/schema.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type { CollectionStore, PassageRepository } from "../../core/ports/passage-repository.ts";
import { embedWith } from "../../ingest/archive.ts";
import { collectionStore } from "../../node/documents/open-collection.ts";
import type { ModelOptions } from "../../node/node-settings.ts";
import { nodeOptions, readConfig } from "../command-options.ts";
import { createCommandLog } from "../log.ts";
import { CommandError, type Shell } from "../shell.ts";

interface Context {
  config: Config;
  store: CollectionStore;
  /** Options to open other stores and the embedding model. */
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

/** Embeds passages; `tell` then reports those that were cut or left out. */
export function embedder(
  { stopped: signal, say }: Shell,
  engine: EmbeddingEngine,
  options: { documentPrefix: string; keepVectors: boolean },
): { embed: ReturnType<typeof embedWith>; tell: () => void } {
  const changes = { cut: 0, "left out": 0 };
  const onChange = (change: keyof typeof changes): void => {
    changes[change]++;
  };
  return {
    embed: embedWith(engine, { ...options, signal, onChange }),
    tell: () => {
      if (changes.cut > 0) say(`${changes.cut} were too long for the model, and were cut.\n`);
      if (changes["left out"] === 0) return;
      say(`${changes["left out"]} were left out: the model can read nothing in them.\n`);
    },
  };
}

export async function existing(store: CollectionStore, name: string): Promise<PassageRepository> {
  const repository = await store.open(name);
  if (repository !== undefined) return repository;
  const names = await store.list();
  throw new CommandError(
    `There is no collection '${name}'. ${names.length === 0 ? "There is none at all yet; 'paddock ingest PATH' makes one." : `There are: ${names.join(", ")}.`}`,
  );
}
