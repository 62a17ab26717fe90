/** `paddock ingest`: adds documents to the node's collection, once or whenever they change. */
import { Command } from "commander";
import type { Config } from "../config/schema.ts";
import { given } from "../core/given.ts";
import type { EmbeddingModel } from "../core/models/model.ts";
import type { PassageRepository } from "../core/ports/passage-repository.ts";
import type { OpenCollection } from "../core/retrieval/collection.ts";
import { boundedBytes, type FoundFiles, findFiles, hasFile } from "../ingest/find-files.ts";
import { handbookLabel } from "../ingest/handbook.ts";
import { originIn, type SourceDocument } from "../ingest/passages.ts";
import { type IngestSummary, ingest } from "../ingest/pipeline.ts";
import { isImageName } from "../ingest/readers/detect-format.ts";
import { readableExtensions } from "../ingest/readers/formats.ts";
import type { ReadLimits } from "../ingest/readers/limits.ts";
import { ReadingProcess } from "../ingest/reading-process.ts";
import { openCollectionToFill } from "../node/documents/node-collection.ts";
import { finishRemovals } from "../node/documents/node-documents.ts";
import { addConfigOptions, addExamples, nodeOptions, readConfig } from "./command-options.ts";
import { followFiles } from "./follow-files.ts";
import { printableJson, printableName } from "./printing.ts";
import { createProgress } from "./progress.ts";
import { CommandError, type Shell } from "./shell.ts";

interface IngestFlags {
  dryRun?: boolean;
  prune?: boolean;
  watch?: boolean;
  textField?: string;
  name?: string;
  json?: boolean;
}

type Target = OpenCollection & { embedding: EmbeddingModel; reading: ReadingProcess };

export function ingestCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("ingest")
      .description("add documents to the collection; one that changed replaces what it had")
      .argument("<paths...>", "files, folders, globs, or - for standard input")
      .option("--dry-run", "say what would be done, and do nothing")
      .option("--prune", "remove documents whose files are gone from these paths")
      .option("--watch", "go on, and follow what changes, until Ctrl-C")
      .option("--text-field <name>", "column of a table or field of a JSONL that holds the text")
      .option(
        "--name <name>",
        "what standard input is called; its ending says what it is",
        "stdin.md",
      )
      .option("--json", "what was done as JSON, in one line"),
  );
  command.addHelpText("after", `\nReads ${readableExtensions.join(" ")}`);
  addExamples(
    command,
    "paddock ingest docs",
    "paddock ingest 'notes/**/*.md' manual.pdf --prune",
    "curl https://example.org/page | paddock ingest - --name page.html",
  );
  command.addHelpText(
    "after",
    "\nExit codes: 0 all was stored, 1 something could not be read, 2 a wrong command line or configuration.",
  );
  return command.action(async (paths: string[]) => {
    const flags: IngestFlags = command.opts();
    if (flags.watch === true && paths.includes("-")) {
      command.error("Standard input cannot be watched.", { code: "paddock.usage" });
    }
    const config = await readConfig(shell, command);
    const options = nodeOptions(shell, config);
    const create = flags.dryRun !== true;
    await using collection = await openCollectionToFill(options, shell.stopped, { create });
    await using reading = new ReadingProcess({ program: shell.program, ...config.ingest });
    const run = () => ingestOnce(shell, config, { ...collection, reading }, paths, flags);
    if (flags.watch === true) await followFiles(shell, paths, run);
    else if (!(await run())) throw new CommandError("Some documents were not read.");
  });
}

/** Returns whether everything could be read. */
async function ingestOnce(
  shell: Shell,
  config: Config,
  target: Target,
  paths: readonly string[],
  flags: IngestFlags,
): Promise<boolean> {
  const startedAt = performance.now();
  const { repository, prefixes, embedding, reading } = target;
  const found = await findDocuments(shell, paths, flags, config.ingest);
  const tell = (path: string, what: string): void => shell.say(`${printableName(path)}: ${what}\n`);
  for (const path of found.missing) tell(path, "there is no such file or folder.");
  for (const { path, reason } of found.unlisted) {
    tell(path || ".", `cannot be looked into (${reason}); what was stored of it stays.`);
  }
  if (flags.dryRun !== true) await finishRemovals({ config, baseDir: shell.cwd }, repository);
  const summary = await ingest(found.documents, {
    engine: embedding.engine,
    repository,
    documentPrefix: prefixes.documentPrefix,
    ...given({ textField: flags.textField, dryRun: flags.dryRun }),
    limits: config.ingest,
    cut: reading.cut,
    progress: createProgress(shell),
    signal: shell.stopped,
    onProblem: (document, reason) => tell(document, printableName(reason)),
  });
  const removed = await removeGone(target, found, summary, flags, shell.cwd);
  const { skipped, leftOut } = found;
  const outcome = {
    ...summary,
    ...{ removed, skipped, leftOut },
    seconds: (performance.now() - startedAt) / 1000,
    collection: config.vectorstore.collection_name,
    total: await repository.count(),
    dryRun: flags.dryRun === true,
  };
  shell.print(flags.json === true ? summaryJson(outcome) : summaryLines(outcome));
  // With --prune, missing paths may be those whose documents were removed.
  const missing = flags.prune === true && removed.length > 0 ? 0 : found.missing.length;
  return summary.failed.length + found.unlisted.length + missing === 0;
}

async function findDocuments(
  shell: Shell,
  paths: readonly string[],
  { name = "stdin.md" }: IngestFlags,
  limits: ReadLimits,
): Promise<FoundFiles> {
  const named = paths.filter((path) => path !== "-");
  const found = await findFiles(named, shell.cwd, limits);
  if (!paths.includes("-")) return found;
  const read = () => boundedBytes(shell.input.stream(), limits);
  const input: SourceDocument = { name, origin: "stdin", bytes: 0, read };
  return { ...found, documents: [...found.documents, input] };
}

/** Removes documents whose files are gone (--prune), and the handbook once there is another. */
async function removeGone(
  { repository }: Target,
  { documents, covers, origin }: FoundFiles,
  { added, changed }: IngestSummary,
  { prune = false, dryRun = false }: IngestFlags,
  cwd: string,
): Promise<string[]> {
  const there = new Set(documents.map(({ name }) => name));
  const ownDocuments = added.length + changed.length > 0;
  const gone: string[] = [];
  for (const { name, hash } of await repository.documents()) {
    if (there.has(name)) continue;
    const isHandbook = ownDocuments && name.startsWith(`${handbookLabel}/`);
    const isPruned = async (): Promise<boolean> =>
      (await isOf(origin, repository, name, hash)) && !(await hasFile(name, cwd));
    if (isHandbook || (prune && covers(name) && (await isPruned()))) gone.push(name);
  }
  if (!dryRun) for (const name of gone) await repository.delete(name);
  return gone;
}

/** Whether a document is of an origin. Without a single digest it has two versions, since a run was interrupted, or it was stored by other means. */
async function isOf(
  origin: string,
  repository: PassageRepository,
  document: string,
  hash?: string,
): Promise<boolean> {
  if (hash !== undefined) return originIn(hash) === origin;
  let isFound = false;
  for await (const { documentHash } of repository.passages(document)) {
    if (originIn(documentHash) !== origin) return false;
    isFound = true;
  }
  return isFound;
}

interface IngestOutcome extends IngestSummary, Pick<FoundFiles, "skipped" | "leftOut"> {
  removed: readonly string[];
  seconds: number;
  collection: string;
  total: number;
  dryRun: boolean;
}

/** Most left-out files to print: more would hide the result. */
const mostNamed = 20;

function summaryLines(outcome: IngestOutcome): string {
  const { added, changed, unchanged, empty, failed, embedded, reused, unreadable } = outcome;
  const { removed, skipped, leftOut, seconds, collection, total, dryRun } = outcome;
  const count = added.length + changed.length + unchanged.length + empty.length + failed.length;
  const parts = [
    [added.length, "new"],
    [changed.length, "changed"],
    [unchanged.length, "unchanged"],
    [empty.length, "without text"],
    [failed.length, "not read"],
  ] as const;
  const kinds = parts.filter(([number]) => number > 0).map(([number, kind]) => `${number} ${kind}`);
  const lines = [
    `${dryRun ? "Would store" : "Stored"} ${embedded} passages of ${count} ${count === 1 ? "document" : "documents"}${kinds.length === 0 ? "" : ` (${kinds.join(", ")})`} in ${seconds.toFixed(1)} s.`,
  ];
  if (reused > 0) lines.push(`${reused} passages of changed documents were there already.`);
  if (unreadable > 0) {
    lines.push(`${unreadable} passages were left out: the model can read nothing in them.`);
  }
  if (removed.length > 0) {
    lines.push(`${dryRun ? "Would remove" : "Removed"}: ${removed.map(printableName).join(", ")}.`);
  }
  if (skipped.size > 0) {
    const kindsOf = [...skipped].map(
      ([extension, number]) => `${number} ${printableName(extension) || "without an extension"}`,
    );
    const advice = [...skipped.keys()].some(isImageName)
      ? " Text in pictures is found by OCR; run it first, and ingest what it gives."
      : "";
    lines.push(`Left alone, since Paddock does not read them: ${kindsOf.join(", ")}.${advice}`);
  }
  for (const { path, reason } of leftOut.slice(0, mostNamed)) {
    lines.push(`Left out: ${printableName(path)}, since ${reason}.`);
  }
  if (leftOut.length > mostNamed) {
    lines.push(`Left out: ${leftOut.length - mostNamed} more, which --json names.`);
  }
  lines.push(`The collection '${collection}' ${dryRun ? "has" : "now has"} ${total} passages.`);
  return `${lines.join("\n")}\n`;
}

function summaryJson(outcome: IngestOutcome): string {
  const { added, changed, unchanged, empty, failed, removed, total } = outcome;
  const { embedded: stored, reused, unreadable } = outcome;
  const fields = {
    dry_run: outcome.dryRun,
    collection: outcome.collection,
    passages: { stored, kept: reused, left_out: unreadable, total },
    documents: { new: added, changed, unchanged, empty, failed, removed },
    left_alone: Object.fromEntries(outcome.skipped),
    left_out: outcome.leftOut,
    seconds: outcome.seconds,
  };
  return `${printableJson(fields)}\n`;
}
