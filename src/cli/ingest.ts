/** `paddock ingest`: adds files to the node's collection. */
import { resolve } from "node:path";
import { Command } from "commander";
import { reasonOf } from "../core/errors.ts";
import { type Document, ingest } from "../ingest/pipeline.ts";
import { readTextFile } from "../ingest/read-text.ts";
import { addConfigOptions, readConfig } from "./configure.ts";
import { createLog } from "./log.ts";
import { nodeFor } from "./node-for.ts";
import { createProgress } from "./progress.ts";
import type { Shell } from "./shell.ts";

export function ingestCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("ingest")
      .description(
        "add text and Markdown files to the collection; a file ingested again is replaced",
      )
      .argument("<files...>", "files to read"),
  );
  command.addHelpText("after", "\nExample:\n  paddock ingest notes.md handbook.txt");
  return command.action(async (files: string[]) => {
    const config = await readConfig(shell, command);
    const progress = createProgress(shell);
    const documents = await readAll(shell, files);
    const level = config.log_level === "info" ? "warn" : config.log_level;
    await using node = nodeFor(shell, config, createLog(level, shell.isTerminal));
    const { embedding, repository } = await node.openCollection(shell.stopped);
    const { engine } = embedding;
    const passages = await ingest(documents, {
      engine,
      repository,
      progress,
      signal: shell.stopped,
    });
    const { collection_name: name } = config.vectorstore;
    shell.print(
      `Stored ${passages} passages of ${documents.length} of ${files.length} files; the collection '${name}' now has ${await repository.count()}.\n`,
    );
    if (documents.length < files.length) command.error("Some files were not read.");
  });
}

/** Reads what can be read, and says what cannot. */
async function readAll(shell: Shell, files: readonly string[]): Promise<Document[]> {
  const documents: Document[] = [];
  for (const file of files) {
    try {
      documents.push(await readTextFile(resolve(shell.cwd, file), file));
    } catch (error) {
      shell.say(`${reasonOf(error)}\n`);
    }
  }
  return documents;
}
