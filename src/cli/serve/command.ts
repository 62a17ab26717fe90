/** `paddock serve`: prepares the models and answers requests until it is asked to stop. */
import { resolve } from "node:path";
import { Command } from "commander";
import {
  addConfigOptions,
  addExamples,
  configFrom,
  openSecretsIn,
  readConfigAgain,
  readConfigFile,
} from "../command-options.ts";
import type { Shell } from "../shell.ts";

export function serveCommand(shell: Shell): Command {
  const command = addConfigOptions(new Command("serve").description("run the node"));
  addExamples(command, "paddock serve --port 9000 --data-dir ./data");
  return command.action(async () => {
    const file = await readConfigFile(shell, command);
    const config = configFrom(shell, command, file);
    // Imported on demand: other commands do not need the server's libraries.
    const { serve } = await import("./serve-node.ts");
    await serve(shell, {
      config,
      file: file === undefined ? undefined : resolve(shell.cwd, file.path),
      openSecrets: openSecretsIn(shell, file),
      read: () => readConfigAgain(shell, command, file),
    });
  });
}
