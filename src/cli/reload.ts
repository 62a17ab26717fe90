/** `paddock reload`: has the running node read its configuration again, and says what came of it. */
import { resolve } from "node:path";
import { Command } from "commander";
import { NodeError } from "../core/errors.ts";
import { askToReload } from "../node/ask-to-reload.ts";
import { dataDirOf } from "../node/data-dir.ts";
import { listRecords, type NodeRecord, removeRecord } from "../node/node-record.ts";
import { isStale } from "../node/running-node.ts";
import { addConfigOptions, configFrom, readConfigFile } from "./configure.ts";
import { addExamples } from "./examples.ts";
import { printableJson } from "./printable.ts";
import { type NodeReport, reportLines } from "./reload/report.ts";
import type { Shell } from "./shell.ts";

/** How long a node may take to answer: it looks four times a second, and reads one file. */
const withinMs = 15_000;

export function reloadCommand(shell: Shell): Command {
  const command = new Command("reload")
    .description(
      "have the running node of the data dir read its configuration again, and say what changed",
    )
    .option("--json", "as JSON");
  addConfigOptions(command);
  addExamples(
    command,
    "paddock reload",
    "paddock reload --config /etc/paddock/paddock.toml --data-dir /var/lib/paddock",
  );
  return command.action(async () => {
    const file = await readConfigFile(shell, command);
    // One with an error is said here, and no node is asked.
    const config = configFrom(shell, command, file);
    const dataDir = dataDirOf(config, shell.cwd);
    const nodes = await runningNodes(shell, dataDir);
    if (nodes.length === 0) {
      throw new NodeError(
        "unavailable",
        `No node runs with the data dir ${dataDir}. Start one with 'paddock serve', or name the data dir of the one that runs: --data-dir.`,
      );
    }
    const signal = shell.stopped;
    const reports = await Promise.all(
      nodes.map(async (node): Promise<NodeReport> => {
        const outcome = await askToReload(dataDir, node, { withinMs, signal });
        return { node, outcome };
      }),
    );
    if (command.opts<{ json?: boolean }>().json === true) {
      shell.print(`${printableJson(reports.map(toJson))}\n`);
    } else {
      const own = file === undefined ? null : resolve(shell.cwd, file.path);
      for (const report of reports) shell.print(`${reportLines(report, own).join("\n")}\n`);
    }
    if (!reports.every(isDone)) {
      throw new NodeError("unavailable", "Not everything that changed is in force.");
    }
  });
}

/** Those that were killed without a word are forgotten. */
async function runningNodes(shell: Shell, dataDir: string): Promise<NodeRecord[]> {
  const records = await listRecords(dataDir);
  const stale = records.filter((record) => isStale(record, shell.processes));
  for (const { id } of stale) await removeRecord(dataDir, id);
  return records.filter((record) => !stale.includes(record));
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
