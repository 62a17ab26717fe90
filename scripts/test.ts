/**
 * `bun run test [SUITE…] [--jobs N]`: every suite, or those named, on as many cores as there are; a
 * dot a file, then what failed and how to run it alone, and why tests were skipped.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleProgram } from "./test/program-bundle.ts";
import { report } from "./test/report.ts";
import { type FileResult, runTests } from "./test/test-run.ts";

const root = join(import.meta.dir, "..");

/**
 * Those with the longest tests first, so that all cores have something to do until the end; how
 * many files share a process: what is started and loaded once serves all of them.
 */
const suites = {
  starter: { filesTogether: 9, isAlone: true },
  faults: { filesTogether: 1 },
  browser: { filesTogether: 3 },
  e2e: { filesTogether: 4 },
  model: { filesTogether: 6 },
  contract: { filesTogether: 10 },
  integration: { filesTogether: 10 },
  http: { filesTogether: 20 },
  unit: { filesTogether: 60 },
} as const satisfies Record<string, { filesTogether: number; isAlone?: true }>;
type Suite = keyof typeof suites;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: "string", default: String(availableParallelism()) } },
});
const isSuite = (name: string): name is Suite => Object.hasOwn(suites, name);
const unknown = positionals.filter((name) => !isSuite(name));
const jobs = Number(values.jobs);
if (unknown.length > 0 || !(jobs >= 1)) {
  console.error(
    `There is no suite '${unknown[0] ?? values.jobs}'. There are: ${Object.keys(suites).join(", ")}. One file is run by 'bun test PATH'.`,
  );
  process.exit(2);
}
const wanted = Object.keys(suites)
  .filter(isSuite)
  .filter((name) => positionals.length === 0 || positionals.includes(name));

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
  PADDOCK_TEST_BUNDLE: await bundleProgram(join(root, "dist", ".test-program")),
};
const results: FileResult[] = [];
const onResult = (result: FileResult): void => {
  results.push(result);
  const { failures, passed } = result;
  process.stdout.write(failures.length > 0 ? "F" : passed > 0 ? "." : "s");
  if (results.length % 80 === 0) process.stdout.write("\n");
};

/** Files that run one after the other in a process, with the others of their suite. */
async function batchesOf(suite: Suite): Promise<string[][]> {
  const files = await Array.fromAsync(new Bun.Glob(`tests/${suite}/**/*.test.ts`).scan(root));
  const sorted = files.map((file) => file.replaceAll("\\", "/")).sort();
  const count = Math.ceil(sorted.length / suites[suite].filesTogether);
  return Array.from({ length: count }, (_, at) => sorted.filter((_, of) => of % count === at));
}

async function runBatch(files: readonly string[]): Promise<void> {
  let left = files;
  while (left.length > 0 && !stop.signal.aborted) {
    left = await runTests(left, { cwd: root, env, logFile, onResult, signal: stop.signal });
  }
}

for (const isAlone of [true, false]) {
  const chosen = wanted.filter((name) => "isAlone" in suites[name] === isAlone);
  const batches = (await Promise.all(chosen.map(batchesOf))).flat();
  const worker = async (): Promise<void> => {
    for (let next = batches.shift(); next !== undefined; next = batches.shift())
      await runBatch(next);
  };
  await Promise.all(Array.from({ length: isAlone ? 1 : jobs }, worker));
}

const skips = (await readFile(skipsFile, "utf8").catch(() => "")).split("\n").filter(Boolean);
await rm(folder, { recursive: true, force: true });
const text = report(results, { skips, seconds: (performance.now() - startedAt) / 1000, logFile });
process.stdout.write(`\n\n${text}`);
const hasFailed = results.some(({ failures }) => failures.length > 0);
process.exit(stop.signal.aborted ? 130 : hasFailed || results.length === 0 ? 1 : 0);
