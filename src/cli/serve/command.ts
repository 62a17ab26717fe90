/** `paddock serve` runs the node; `paddock reload` makes it read its configuration again. */
import { platform } from "node:os";
import { resolve } from "node:path";
import { Command } from "commander";
import { hasCode } from "../../core/errors.ts";
import { dataDirOf } from "../../node/node-settings.ts";
import {
  findNodes,
  type NodeRecord,
  type ReloadOutcome,
  recordPath,
  requestReload,
} from "../../node/running-node.ts";
import {
  addConfigOptions,
  addExamples,
  configFrom,
  openSecretsIn,
  readConfigAgain,
  readConfigFile,
} from "../command-options.ts";
import { printableJson } from "../printing.ts";
import { noNode } from "../remote-server.ts";
import { CommandError, type Shell } from "../shell.ts";

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

interface NodeReport {
  node: NodeRecord;
  /** Undefined: it did not answer. */
  outcome: ReloadOutcome | undefined;
}

/** How long a node may take: it reads one file, but may be busy. */
const withinMs = 15_000;

export function reloadCommand(shell: Shell): Command {
  const command = new Command("reload")
    .description(
      "have the running node of the data dir read its configuration again, and print what changed",
    )
    .option("--json", "as JSON");
  addConfigOptions(command);
  addExamples(
    command,
    "paddock reload",
    "paddock reload --config /etc/paddock/paddock.toml --data-dir /var/lib/paddock",
  );
  return command.action(async () => {
    if (platform() === "win32") {
      throw new CommandError(
        "Windows has no SIGHUP, which asks a node to reload: restart the node instead.",
      );
    }
    const file = await readConfigFile(shell, command);
    // An error in it is reported here, before any node reads it.
    const config = configFrom(shell, command, file);
    const dataDir = dataDirOf(config, shell.cwd);
    const { here, onOtherHosts } = await findNodes(dataDir, shell.processes);
    for (const node of onOtherHosts) {
      shell.say(
        `The node at ${node.address} runs on '${node.host}': run 'paddock reload' there. If it is gone, remove ${recordPath(dataDir, node.id)}.\n`,
      );
    }
    if (here.length === 0) {
      throw noNode(dataDir);
    }
    const reports = await Promise.all(here.map((node) => reload(shell, dataDir, node)));
    if (command.opts<{ json?: boolean }>().json === true) {
      shell.print(`${printableJson(reports.map(toJson))}\n`);
    } else {
      const own = file === undefined ? null : resolve(shell.cwd, file.path);
      for (const report of reports) shell.print(`${reportLines(report, own).join("\n")}\n`);
    }
    if (!reports.every(isDone)) {
      throw new CommandError("Not everything that changed is in force.");
    }
  });
}

async function reload(
  { processes, stopped: signal }: Shell,
  dataDir: string,
  node: NodeRecord,
): Promise<NodeReport> {
  try {
    return { node, outcome: await requestReload(dataDir, node, { processes, withinMs, signal }) };
  } catch (error) {
    if (!hasCode(error, "EPERM")) throw error;
    const reason = "it belongs to another user; run this command as that user.";
    return { node, outcome: { changed: [], needsRestart: [], error: reason } };
  }
}

/** The outcome in sentences. `ownFile`: the configuration file that this command read. */
export function reportLines({ node, outcome }: NodeReport, ownFile: string | null): string[] {
  const who = `The node at ${node.address} (process ${node.pid})`;
  if (outcome === undefined) {
    return [`${who} did not answer. If it hangs, restart it.`];
  }
  const { changed, needsRestart, error } = outcome;
  const otherFile =
    node.config === ownFile
      ? []
      : [`It reads ${node.config ?? "no configuration file"}, not ${ownFile ?? "none"}.`];
  if (error !== undefined) return [`${who} changed nothing: ${error}`, ...otherFile];
  const isSame = changed.length + needsRestart.length === 0;
  return [
    isSame ? `${who} runs with this configuration already.` : `${who} read its configuration.`,
    ...(changed.length === 0 ? [] : [`In force now: ${changed.join(", ")}.`]),
    ...(needsRestart.length === 0
      ? []
      : [`Needs a restart, and is as it was: ${needsRestart.join(", ")}.`]),
    ...otherFile,
  ];
}

const isDone = ({ outcome }: NodeReport): boolean =>
  outcome !== undefined && outcome.error === undefined && outcome.needsRestart.length === 0;

const toJson = ({ node, outcome }: NodeReport) => ({
  address: node.address,
  pid: node.pid,
  started_at: node.startedAt,
  answered: outcome !== undefined,
  changed: outcome?.changed ?? [],
  needs_restart: outcome?.needsRestart ?? [],
  error: outcome === undefined ? "The node did not answer." : (outcome.error ?? null),
});
