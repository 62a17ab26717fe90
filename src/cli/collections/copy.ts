/** `paddock collections copy`: copies a collection to another store, or re-embeds it. */
import { Command } from "commander";
import type {
  CollectionSpec,
  EmbeddedPassage,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { findMismatch } from "../../core/retrieval/collection.ts";
import { type TransferOptions, transfer } from "../../ingest/archive.ts";
import { collectionStore, openEmbeddingModel } from "../../node/documents/open-collection.ts";
import type { ModelOptions } from "../../node/node-settings.ts";
import { addExamples } from "../command-options.ts";
import { createProgress } from "../progress.ts";
import { CommandError, type Shell } from "../shell.ts";
import { embedder, existing, withCollectionStore } from "./configured-store.ts";

interface CopyOptions {
  to?: string;
  as?: string;
  model?: string;
}

export function copy(shell: Shell): Command {
  const command = new Command("copy")
    .description("copy a collection into another store, or embed it again with another model")
    .argument("[name]", "default: the configured one")
    .option("--to <url>", "'embedded', or the address of a Qdrant server; default: where it is")
    .option("--as <name>", "what it is called there; default: the same")
    .option("--model <name>", "an embedding model of the configuration that makes new vectors");
  addExamples(
    command,
    "paddock collections copy notes --to http://127.0.0.1:6333 --as notes-2",
    "paddock collections copy notes --model gte-small --as notes-gte",
  );
  return command.action((name: string | undefined) =>
    withCollectionStore(shell, command, async ({ config, options: parts, store }) => {
      const options: CopyOptions = command.opts<CopyOptions>();
      const from = name ?? config.vectorstore.collection_name;
      const to = options.as ?? from;
      const place = options.to ?? config.vectorstore.url;
      await using source = await existing(store, from);
      if ((await source.describe()).url === place && from === to) {
        throw new CommandError(
          "A collection cannot be copied onto itself: name another with --as, or another store with --to.",
        );
      }
      await using resources = new AsyncDisposableStack();
      const work =
        options.model === undefined
          ? await asItIs(source, from)
          : await embeddedAgain(parts, options.model, shell, resources);
      await using target = await openTarget(parts, place, to, work.spec);
      const total = await source.count();
      const step = createProgress(shell).step(work.label, total, "passages");
      let there = 0;
      const onThere = (): void => {
        there++;
      };
      const passages =
        options.model === undefined ? source.passages() : missingIn(target, source, onThere);
      const stored = await transfer(passages, {
        repository: target,
        signal: shell.stopped,
        onStored: (done) => step.update(there + done),
        ...(work.embed === undefined ? {} : { embed: work.embed }),
      });
      step.finish(`${stored} passages`);
      work.tell();
      const before = there > 0 ? ` (${there} were there already)` : "";
      shell.print(
        `${work.done} ${stored} passages${before}; '${to}' at ${place} now has ${await target.count()}.\n`,
      );
    }),
  );
}

/** How the passages get their vectors. */
interface CopyWork {
  spec: CollectionSpec;
  label: string;
  done: string;
  embed?: NonNullable<TransferOptions["embed"]>;
  /** Reports passages that were cut or left out. */
  tell: () => void;
}

async function asItIs(source: PassageRepository, name: string): Promise<CopyWork> {
  const { dimension, embedding } = await source.describe();
  if (embedding === undefined) {
    throw new CommandError(
      `The collection '${name}' does not say which model filled it; embed it again with --model, or export it and import it.`,
    );
  }
  return { spec: { dimension, embedding }, label: "Copying", done: "Copied", tell: () => {} };
}

/** The model stays loaded until `resources` is disposed. */
async function embeddedAgain(
  parts: ModelOptions,
  model: string,
  shell: Shell,
  resources: AsyncDisposableStack,
): Promise<CopyWork> {
  const { embedding } = resources.use(await openEmbeddingModel(parts, shell.stopped, model));
  const { engine, identity } = embedding;
  const { documentPrefix } = identity;
  return {
    spec: { dimension: engine.dimension, embedding: identity },
    label: `Embedding with ${model}`,
    done: "Embedded",
    ...embedder(shell, engine, { documentPrefix, keepVectors: false }),
  };
}

async function openTarget(
  parts: ModelOptions,
  place: string,
  name: string,
  spec: CollectionSpec,
): Promise<PassageRepository> {
  const target = await collectionStore(parts, place).create(name, spec);
  try {
    const there = await target.describe();
    const mismatch = findMismatch(there, spec);
    if (mismatch !== undefined) throw new CommandError(mismatch);
    if (there.embedding?.documentPrefix === spec.embedding.documentPrefix) return target;
    throw new CommandError(
      `The collection '${name}' at ${there.url} is filled with other prefixes; export and import instead.`,
    );
  } catch (error) {
    await target[Symbol.asyncDispose]();
    throw error;
  }
}

const page = 128;

/** Passages that the target does not have, so that an interrupted copy can continue. */
async function* missingIn(
  target: PassageRepository,
  source: PassageRepository,
  onThere: () => void,
): AsyncGenerator<EmbeddedPassage> {
  let batch: EmbeddedPassage[] = [];
  async function* flush(): AsyncGenerator<EmbeddedPassage> {
    const stored = await target.read(batch.map(({ id }) => id));
    const known = new Map(stored.map(({ id, source }) => [id, source]));
    for (const passage of batch) {
      if (known.get(passage.id) === passage.source) onThere();
      else yield passage;
    }
    batch = [];
  }
  for await (const passage of source.passages()) {
    batch.push(passage);
    if (batch.length === page) yield* flush();
  }
  yield* flush();
}
