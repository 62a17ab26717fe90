/** One `bun test` over some files, and what came of it. */
import { appendFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";

export interface FileResult {
  /** `tests/http/chat.test.ts` */
  file: string;
  passed: number;
  skipped: number;
  failures: Failure[];
}

interface Failure {
  /** The names of the groups and of the test, as `bun test` prints them; undefined where it is not one test that failed. */
  test?: string | undefined;
  /** What was printed just before. */
  output: string;
}

export interface TestRunOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  /** Where all that is printed goes. */
  logFile: string;
  /** Called for each file when its last result is known. */
  onResult: (result: FileResult) => void;
  signal: AbortSignal;
}

const fileLine = /^(tests\/\S+\.test\.ts):$/;
const resultLine = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/;
/** Bun counts at the end, and repeats what failed before that. */
const endLine = /^\s*\d+ (?:tests? (?:failed|skipped)|pass)\b/;
/** Bun's heading of an error outside of tests: a module that does not load, a promise that nobody awaited. */
const looseError = "# Unhandled error between tests";
/** Lines that a report has of what a test printed, and letters of each; a browser prints pages. */
const mostLines = 30;
const longestLine = 300;

/** Runs them one after the other; resolves with the files that a crash kept from being run. */
export async function runTests(
  files: readonly string[],
  { cwd, env, logFile, onResult, signal }: TestRunOptions,
): Promise<string[]> {
  const paths = files.map((file) => `./${file}`);
  const child = Bun.spawn([process.execPath, "--no-orphans", "test", ...paths], {
    cwd,
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    signal,
  });
  const log: string[] = [];
  const results: FileResult[] = [];
  let lines: string[] = [];
  let hasLooseError = false;
  let isOver = false;
  const fail = (test?: string): void => {
    results.at(-1)?.failures.push({ test, output: lines.join("\n") });
  };
  const endFile = (): void => {
    if (hasLooseError) fail();
    hasLooseError = false;
    lines = [];
  };
  for await (const line of createInterface({ input: Readable.fromWeb(child.stderr) })) {
    log.push(line);
    isOver ||= endLine.test(line);
    if (isOver) continue;
    const file = fileLine.exec(line)?.[1];
    const [, outcome, test] = resultLine.exec(line) ?? [];
    const last = results.at(-1);
    if (file !== undefined) {
      endFile();
      if (last !== undefined) onResult(last);
      results.push({ file, passed: 0, skipped: 0, failures: [] });
    } else if (outcome === undefined) {
      hasLooseError ||= line === looseError;
      lines.push(line.length > longestLine ? `${line.slice(0, longestLine)}…` : line);
      if (lines.length > mostLines) lines.shift();
    } else {
      if (outcome === "fail") fail(test);
      else if (last !== undefined) last[outcome === "pass" ? "passed" : "skipped"]++;
      lines = [];
    }
  }
  const code = await child.exited;
  // As a whole, since others write there too. Of processes that it started those count that it waited for.
  const cost = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  await appendFile(logFile, `${log.join("\n")}\n${cost.toFixed(1)} s of CPU: ${files.join(" ")}\n`);
  const last = results.at(-1) ?? { file: files[0] ?? "", passed: 0, skipped: 0, failures: [] };
  const isExplained = isOver && (code === 0 || results.some(({ failures }) => failures.length > 0));
  if (!hasLooseError && !isExplained) {
    const how = child.signalCode ?? `exit code ${code}`;
    last.failures.push({ output: [...lines, `bun test ended with ${how}`].join("\n") });
  }
  endFile();
  onResult(last);
  const heard = new Set([...results, last].map(({ file }) => file));
  return files.filter((file) => !heard.has(file));
}
