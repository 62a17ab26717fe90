/**
 * `bun run test [SUITE[/FILE]…] [--jobs N]`: every suite, or those named, on as many cores as there
 * are; a dot a file, then what failed and how to run it alone, and why tests were skipped.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleProgram } from "./test/program-bundle.ts";
import { report } from "./test/report.ts";
import { batchesOf, suites } from "./test/suites.ts";
import { type FileResult, runTests } from "./test/test-run.ts";

const root = join(import.meta.dir, "..");
/** More than there are cores, since tests wait a quarter of the time; but each job may have nodes, which take memory. */
const mostJobs = 8;
const fittingJobs = Math.min(Math.ceil(1.5 * availableParallelism()) + 1, mostJobs);

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: "string", default: String(fittingJobs) },
  },
});
const suiteOf = (part: string): string => part.split("/", 1)[0] ?? "";
const unknown = positionals.find((part) => !Object.hasOwn(suites, suiteOf(part)));
const jobs = Number(values.jobs);
if (unknown !== undefined || !(jobs >= 1)) {
  console.error(
    unknown === undefined
      ? `--jobs is a number of processes, not '${values.jobs}'.`
      : `There is no suite '${unknown}'. There are: ${Object.keys(suites).join(", ")}.`,
  );
  process.exit(2);
}
const named = positionals.length > 0;
const parts = named ? positionals : Object.keys(suites).filter((name) => !suites[name]?.isNamed);
const wanted = Object.entries(suites).filter(([name]) => parts.map(suiteOf).includes(name));

const startedAt = performance.now();
const folder = await mkdtemp(join(tmpdir(), "paddock-tests-"));
const logFile = join(root, "dist", "test.log");
const skipsFile = join(folder, "skips");
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
await mkdir(join(root, "dist"), { recursive: true });
await rm(logFile, { force: true });

const env = {
  ...process.env,
  // What tests leave is removed with the folder.
  TMPDIR: folder,
  PADDOCK_TEST_SKIPS: skipsFile,
  ...(process.env.PADDOCK_TEST_PROGRAM === undefined
    ? { PADDOCK_TEST_BUNDLE: await bundleProgram(join(root, "dist", ".test-program")) }
    : {}),
};
const results: FileResult[] = [];
const onResult = (result: FileResult): void => {
  results.push(result);
  const { failures, passed } = result;
  process.stdout.write(failures.length > 0 ? "F" : passed > 0 ? "." : "s");
  if (results.length % 80 === 0) process.stdout.write("\n");
};

async function runBatch(files: readonly string[]): Promise<void> {
  let left = files;
  while (left.length > 0 && !stop.signal.aborted) {
    left = await runTests(left, { cwd: root, env, logFile, onResult, signal: stop.signal });
  }
}

const batches = (await Promise.all(wanted.map(([name]) => batchesOf(root, name, parts)))).flat();
const work = async (): Promise<void> => {
  for (let next = batches.shift(); next !== undefined; next = batches.shift()) {
    await runBatch(next);
  }
};
await Promise.all(Array.from({ length: jobs }, work));

const skips = (await readFile(skipsFile, "utf8").catch(() => "")).split("\n").filter(Boolean);
await rm(folder, { recursive: true, force: true });
const text = report(results, { skips, seconds: (performance.now() - startedAt) / 1000, logFile });
process.stdout.write(`\n\n${text}`);
const hasFailed = results.some(({ failures }) => failures.length > 0);
process.exit(stop.signal.aborted ? 130 : hasFailed || results.length === 0 ? 1 : 0);
