/** What a person reads at the end of a test run. */
import { relative } from "node:path";
import type { FileResult } from "./test-run.ts";

export interface ReportOptions {
  /** Why tests were skipped, a line each. */
  skips: readonly string[];
  seconds: number;
  /** Where all that was printed is. */
  logFile: string;
}

export function report(results: readonly FileResult[], options: ReportOptions): string {
  const { skips, seconds, logFile } = options;
  const failed = results.flatMap(({ file, failures }) =>
    failures.map((failure) => ({ file, ...failure })),
  );
  const sum = (field: "passed" | "skipped"): number =>
    results.reduce((total, result) => total + result[field], 0);
  const parts = [
    `${sum("passed")} passed, ${failed.length} failed, ${sum("skipped")} skipped`,
    `${results.length} files in ${duration(seconds)}; everything that was printed is in ${relative(".", logFile)}`,
  ];
  for (const { file, test, output } of failed) {
    parts.push("", `Failed: ${file}${test === undefined ? "" : ` > ${test}`}`, output.trim());
    parts.push(`Run it alone: bun test ${file}${test === undefined ? "" : ` -t ${quoted(test)}`}`);
  }
  if (skips.length > 0) parts.push("", "Skipped:", ...new Set(skips.map((line) => `  ${line}`)));
  if (failed.length > 0) {
    // Once more, for who sees only the end of it.
    const names = new Set(failed.map(({ file }) => file));
    parts.push("", `${failed.length} failed, in ${[...names].join(" ")}`);
  }
  return `${parts.join("\n")}\n`;
}

const duration = (seconds: number): string =>
  `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;

/** `-t` is a regular expression over the names of groups and test, with spaces between them. */
function quoted(test: string): string {
  const pattern = test
    .split(" > ")
    .join(" ")
    .replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return `'${pattern.replaceAll("'", "'\\''")}'`;
}
