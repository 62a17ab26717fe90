/** What an ingest did, as lines for a person or as JSON for a program. */
import type { IngestSummary } from "../ingest/pipeline.ts";
import { isImageName } from "../ingest/readers/content-kinds.ts";
import { printableJson, printableName } from "./printing.ts";

export interface IngestOutcome {
  /** Documents that were removed. */
  removed: readonly string[];
  /** Files of folders that no reader knows, by extension. */
  skipped: ReadonlyMap<string, number>;
  /** What is there and was not taken, with the reason. */
  leftOut: readonly { path: string; reason: string }[];
  seconds: number;
  collection: string;
  /** Passages that the collection has now. */
  total: number;
  dryRun: boolean;
}

/** Of what was left out; more would hide what was done. */
const mostNamed = 20;

export function summaryLines(summary: IngestSummary, outcome: IngestOutcome): string {
  const { added, changed, unchanged, empty, failed, embedded, reused, unreadable } = summary;
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

/** Documents by what became of them, and how many passages that made. */
export function summaryJson(summary: IngestSummary, outcome: IngestOutcome): string {
  const { added, changed, unchanged, empty, failed, embedded, reused, unreadable } = summary;
  const { removed, skipped, leftOut, seconds, collection, total, dryRun } = outcome;
  const fields = {
    dry_run: dryRun,
    collection,
    passages: { stored: embedded, kept: reused, left_out: unreadable, total },
    documents: { new: added, changed, unchanged, empty, failed, removed },
    left_alone: Object.fromEntries(skipped),
    left_out: leftOut,
    seconds,
  };
  return `${printableJson(fields)}\n`;
}
