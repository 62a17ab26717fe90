/** Stores results of accelerator trials, so that failures are not repeated at every start. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

const TrialResult = T.Object({
  backend: T.String(),
  /** The engine's version and the files that were tried. */
  library: T.String(),
  driver: T.String(),
  model: T.String(),
  failure: T.Optional(T.String()),
  at: T.String(),
});

const TrialFile = T.Object({ verdicts: T.Array(TrialResult) });

export type TrialResult = Static<typeof TrialResult>;

type Trial = Pick<TrialResult, "backend" | "library" | "driver" | "model">;

export const everyModel = "*";

const mostResults = 200;

export const trialFile = (dataDir: string): string => join(dataDir, "accelerators.json");

/** Empty if the file is missing or damaged: everything is then tried. */
export async function readTrials(path: string): Promise<TrialResult[]> {
  try {
    const content: unknown = JSON.parse(await readFile(path, "utf8"));
    return Value.Check(TrialFile, content) ? content.verdicts : [];
  } catch {
    return [];
  }
}

export const findResult = (
  results: readonly TrialResult[],
  { backend, library, driver, model }: Trial,
): TrialResult | undefined =>
  results.findLast(
    (known) =>
      known.backend === backend &&
      known.library === library &&
      known.driver === driver &&
      (known.model === model || known.model === everyModel),
  );

export async function addResult(path: string, result: TrialResult): Promise<void> {
  const others = (await readTrials(path)).filter(
    ({ backend, model }) =>
      backend !== result.backend || (model !== result.model && model !== everyModel),
  );
  await write(path, [...others, result].slice(-mostResults));
}

export async function forgetFailures(path: string): Promise<void> {
  const results = await readTrials(path);
  const working = results.filter(({ failure }) => failure === undefined);
  if (working.length < results.length) await write(path, working);
}

async function write(path: string, verdicts: readonly TrialResult[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${crypto.randomUUID()}.part`;
  try {
    await writeFile(aside, `${JSON.stringify({ verdicts }, null, 2)}\n`, { mode: 0o600 });
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
