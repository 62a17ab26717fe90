/** `paddock collections copy`: a collection into another store, or for another model. What is there already is left as it is, so that an interrupted copy goes on. */
import { Command } from "commander";
import { given } from "../../core/given.ts";
import type {
  CollectionSpec,
  EmbeddedPassage,
  Passage,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { findMismatch } from "../../core/retrieval/collection.ts";
import { inBatches, transfer } from "../../ingest/archive.ts";
import {
  collectionStore,
  openEmbeddingModel,
  specFor,
} from "../../node/documents/node-collection.ts";
import { finishRemovals } from "../../node/documents/node-documents.ts";
import type { ModelOptions } from "../../node/node-settings.ts";
import { addExamples } from "../command-options.ts";
import { createProgress } from "../progress.ts";
import { CommandError, type Shell } from "../shell.ts";
import { embedder, existing, withCollectionStore } from "./transfer.ts";

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
      const options = command.opts<{ to?: string; as?: string; model?: string }>();
      const from = name ?? config.vectorstore.collection_name;
      const to = options.as ?? from;
      const place = options.to ?? config.vectorstore.url;
      if (place !== "embedded" && URL.parse(place) === null) {
        throw new CommandError(
          `--to is '${place}'; give 'embedded', or the address of a Qdrant server, such as http://127.0.0.1:6333.`,
        );
      }
      await using source = await existing(store, from);
      const { url } = await source.describe();
      if (url === place && from === to) throw ontoItself();
      const { model } = options;
      await using opened =
        model === undefined ? undefined : await openEmbeddingModel(parts, shell.stopped, model);
      const spec = opened === undefined ? await specOf(source, from) : specFor(opened.embedding);
      await using target = await openTarget(parts, place, to, spec);
      // An address can be written in several ways.
      if ((await target.describe()).url === url && from === to) throw ontoItself();
      if (place === config.vectorstore.url) {
        await finishRemovals(parts, target, { collection: to, mayBringBack: true });
      }
      const { documentPrefix } = spec.embedding;
      const embedding =
        opened && embedder(shell, opened.embedding.engine, { documentPrefix, keepVectors: false });
      const before = await target.count();
      const label = model === undefined ? "Copying" : `Embedding with ${model}`;
      const step = createProgress(shell).step(label, await source.count(), "passages");
      const tally: Tally = { seen: 0, same: 0, added: 0 };
      const isSame = model === undefined ? isSamePassage : hasSameText;
      const passages = missingIn(target, source, isSame, tally, () => step.update(tally.seen));
      const stored = await transfer(passages, {
        repository: target,
        signal: shell.stopped,
        onStored: () => {},
        ...given({ embed: embedding?.embed }),
      });
      step.finish(`${stored} passages`);
      embedding?.tell();
      const now = await target.count();
      const where = `'${to}' at ${place}`;
      if (model === undefined && now < before + tally.added) {
        throw new CommandError(
          `${where} has ${now} passages, and ${before + tally.added} were expected: it had ${before}, and ${tally.added} were added. Something removed some of them meanwhile; run the command again, which copies what is missing.`,
        );
      }
      const same = tally.same > 0 ? ` (${tally.same} were there already)` : "";
      const done = model === undefined ? "Copied" : "Embedded";
      shell.print(`${done} ${stored} passages${same}; ${where} now has ${now}.\n`);
      const missed = (await source.count()) - tally.seen;
      if (missed > 0) {
        shell.say(
          `${missed} of '${from}' were not copied: they came meanwhile, which the command copies if it is run again, or are points without a text.\n`,
        );
      }
      if (model === undefined && now > tally.seen) {
        shell.say(`${now - tally.seen} passages there are not in '${from}'; nothing is removed.\n`);
      }
    }),
  );
}

const ontoItself = (): CommandError =>
  new CommandError(
    "A collection cannot be copied onto itself: name another with --as, or another store with --to.",
  );

async function specOf(source: PassageRepository, name: string): Promise<CollectionSpec> {
  const { dimension, embedding } = await source.describe();
  if (embedding !== undefined) return { dimension, embedding };
  throw new CommandError(
    `The collection '${name}' does not say which model filled it; embed it again with --model, or export it and import it.`,
  );
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

/** How many passages of the source were read, are in the target as they are, and are not there at all. */
interface Tally {
  seen: number;
  same: number;
  added: number;
}

/** Passages that the target does not have, or has another version of. */
async function* missingIn(
  target: PassageRepository,
  source: PassageRepository,
  isSame: (one: Passage, other: Passage) => boolean,
  tally: Tally,
  onSeen: () => void,
): AsyncGenerator<EmbeddedPassage> {
  for await (const batch of inBatches(source.passages())) {
    const stored = await target.read(batch.map(({ id }) => id));
    // Qdrant writes UUIDs in lower case.
    const known = new Map(stored.map((passage) => [passage.id.toLowerCase(), passage]));
    for (const passage of batch) {
      const there = known.get(passage.id.toLowerCase());
      tally.seen++;
      if (there === undefined) tally.added++;
      if (there !== undefined && isSame(there, passage)) tally.same++;
      else yield passage;
    }
    onSeen();
  }
}

const hasSameText = (one: Passage, other: Passage): boolean => one.source === other.source;

/** The digest of the embedded text stands for the vector, as both collections are of one model. */
const isSamePassage = (one: Passage, other: Passage): boolean =>
  hasSameText(one, other) &&
  one.document === other.document &&
  one.heading === other.heading &&
  one.position === other.position &&
  one.hash === other.hash &&
  one.documentHash === other.documentHash &&
  one.parts === other.parts;
