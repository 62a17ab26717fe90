/** `paddock collections export` and `import`: passages between collections and files. */
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import type { Config } from "../../config/schema.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type { CollectionStore, PassageRepository } from "../../core/ports/passage-repository.ts";
import {
  embedWith,
  linesOf,
  readArchive,
  toHeaderLine,
  toLine,
  transfer,
} from "../../ingest/archive.ts";
import { collectionStore, openCollectionToFill } from "../../node/documents/node-collection.ts";
import { finishRemovals } from "../../node/documents/node-documents.ts";
import type { ModelOptions } from "../../node/node-settings.ts";
import { addExamples, nodeOptions, readConfig } from "../command-options.ts";
import { escapedJson } from "../printing.ts";
import { createProgress } from "../progress.ts";
import { CommandError, type Shell } from "../shell.ts";
import { writeAside } from "../write-aside.ts";

export function exportTo(shell: Shell): Command {
  const command = new Command("export")
    .description("write a collection as JSON lines, vectors included")
    .argument("[name]", "default: the configured one")
    .option("--output <file>", "where to; default: standard output");
  addExamples(command, "paddock collections export notes --output notes.jsonl");
  return command.action((name: string | undefined) =>
    withCollectionStore(shell, command, async ({ config, store }) => {
      await using repository = await existing(store, name ?? config.vectorstore.collection_name);
      const { output }: { output?: string } = command.opts();
      const total = await repository.count();
      const step = createProgress(shell).step("Exporting", total, "passages");
      const lines = archiveLines(repository, shell.stopped, (done) => step.update(done));
      if (output === undefined) await shell.printAll(escaped(lines));
      else {
        const path = resolve(shell.cwd, output);
        await writeAside({ path, shown: output, otherwise: "; name another file." }, lines);
      }
      step.finish(`${total} passages`);
    }),
  );
}

async function* escaped(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield escapedJson(line);
}

async function* archiveLines(
  repository: PassageRepository,
  signal: AbortSignal,
  onLine: (count: number) => void,
): AsyncGenerator<string> {
  yield `${toHeaderLine(await repository.describe())}\n`;
  let done = 0;
  for await (const passage of repository.passages()) {
    signal.throwIfAborted();
    yield `${toLine(passage)}\n`;
    onLine(++done);
  }
}

export function importFrom(shell: Shell): Command {
  const command = new Command("import")
    .description(
      "add passages from JSON lines; those without a vector of the node's model are embedded",
    )
    .argument(
      "<file>",
      "what 'export' wrote, or any JSON lines with 'source'; - for standard input",
    );
  addExamples(command, "paddock collections import notes.jsonl --collection notes");
  return command.action((path: string) =>
    withCollectionStore(shell, command, async ({ config, options }) => {
      await using collection = await openCollectionToFill(options, shell.stopped);
      const { embedding, repository, prefixes } = collection;
      await finishRemovals(options, repository, { mayBringBack: true });
      const lines = linesOf(
        path === "-" ? shell.input.stream() : createReadStream(resolve(shell.cwd, path)),
      );
      const archive = await readArchive(lines);
      const { documentPrefix } = prefixes;
      const keepVectors =
        archive.embedding?.fingerprint === embedding.identity.fingerprint &&
        archive.embedding.documentPrefix === documentPrefix;
      if (archive.embedding !== undefined && !keepVectors) {
        shell.say(
          `The file's vectors are of '${archive.embedding.model}' with the prefix '${archive.embedding.documentPrefix}'; its passages are embedded again with '${embedding.identity.model}' and '${documentPrefix}'.\n`,
        );
      }
      const { embed, tell } = embedder(shell, embedding.engine, { documentPrefix, keepVectors });
      const step = createProgress(shell).step("Importing", 0, "passages");
      const stored = await transfer(archive.passages, {
        repository,
        onStored: (done) => step.update(done),
        signal: shell.stopped,
        embed,
      });
      step.finish(`${stored} passages`);
      tell();
      const { collection_name: name } = config.vectorstore;
      shell.print(
        `Imported ${stored} passages; the collection '${name}' now has ${await repository.count()}.\n`,
      );
    }),
  );
}

interface Context {
  config: Config;
  store: CollectionStore;
  options: ModelOptions;
}

export async function withCollectionStore(
  shell: Shell,
  command: Command,
  body: (context: Context) => Promise<void>,
): Promise<void> {
  const config = await readConfig(shell, command);
  const options = nodeOptions(shell, config);
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
