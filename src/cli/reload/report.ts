/** What came of a reload, in sentences for a person. */
import type { NodeRecord, ReloadOutcome } from "../../node/node-record.ts";

export interface NodeReport {
  node: NodeRecord;
  /** Undefined: it did not answer. */
  outcome: ReloadOutcome | undefined;
}

/** `ownFile`: the configuration file that this command read. */
export function reportLines({ node, outcome }: NodeReport, ownFile: string | null): string[] {
  const who = `The node at ${node.address} (process ${node.pid})`;
  const otherFile =
    node.config === ownFile
      ? []
      : [`It reads ${node.config ?? "no configuration file"}, not ${ownFile ?? "none"}.`];
  if (outcome === undefined) {
    return [
      `${who} did not answer. If it was killed, remove ${node.id}.json from the folder 'nodes' of the data dir; if it hangs, restart it.`,
    ];
  }
  const { changed, needsRestart, error } = outcome;
  if (error !== undefined) {
    return [`${who} changed nothing: ${error}`, ...otherFile];
  }
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
