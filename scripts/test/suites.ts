/** The suites of tests/, in the order that they are begun in. */

interface Suite {
  /** How many files share a process: what is started and loaded once, a second of CPU time, serves all of them. */
  filesTogether: number;
  /** Whether it is run only where it is named: `bun run test:faults`, `bun run test:release`. */
  isNamed?: true;
}

/** Those with the longest tests come first, so that all cores have something to do until the end. */
export const suites: Readonly<Record<string, Suite>> = {
  starter: { filesTogether: 10 },
  faults: { filesTogether: 2, isNamed: true },
  release: { filesTogether: 1, isNamed: true },
  e2e: { filesTogether: 7 },
  browser: { filesTogether: 8 },
  model: { filesTogether: 10 },
  contract: { filesTogether: 24 },
  integration: { filesTogether: 25 },
  http: { filesTogether: 40 },
  unit: { filesTogether: 70 },
};

/** Batches of a suite's files, each for one process; of those whose path begins with one of the parts. */
export async function batchesOf(
  root: string,
  suite: string,
  parts: readonly string[],
): Promise<string[][]> {
  const found = await Array.fromAsync(new Bun.Glob(`tests/${suite}/**/*.test.ts`).scan(root));
  const files = found
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => parts.some((part) => file.startsWith(`tests/${part}`)))
    .sort();
  const count = Math.ceil(files.length / (suites[suite]?.filesTogether ?? 1));
  return Array.from({ length: count }, (_, at) => files.filter((_, of) => of % count === at));
}
