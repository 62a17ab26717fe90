/** `paddock documents`: recovers uploads that the registry has lost. */
import { Command } from "commander";
import { recoverDocuments } from "../node/documents/node-documents.ts";
import { addConfigOptions, addExamples, readConfig } from "./command-options.ts";
import { toTable } from "./printing.ts";
import type { Shell } from "./shell.ts";

export function documentsCommand(shell: Shell): Command {
  const command = new Command("documents").description("recover uploads that the node has lost");
  command.addCommand(addConfigOptions(recover(shell)));
  return addExamples(command, "paddock documents recover");
}

function recover(shell: Shell): Command {
  const command = new Command("recover").description(
    "make files of the uploads that documents.sqlite does not know; while no node runs",
  );
  addExamples(command, "paddock documents recover");
  return command.action(async () => {
    const config = await readConfig(shell, command);
    const files = await recoverDocuments({ config, baseDir: shell.cwd });
    if (files.length === 0) {
      shell.print("There is nothing to recover: the registry knows every upload.\n");
      return;
    }
    shell.print(
      toTable(files.map(({ id, filename, bytes, type }) => ({ id, filename, bytes, type }))),
    );
    const count = files.length === 1 ? "1 file is" : `${files.length} files are`;
    shell.print(
      `${count} back. They have no owner, and never expire; add them to vector stores again.\n`,
    );
  });
}
