/** The results of trials of accelerators, in a file: what cannot work is not tried again at every start. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

const TrialResult = T.Object({
  backend: T.String(),
  /** Digest of the libraries that were tried. */
  library: T.String(),
  driver: T.String(),
  /** Which model; `*`: any. */
  model: T.String(),
  /** Why it cannot work; absent: it works. */
  failure: T.Optional(T.String()),
  /** When it was tried, as a date. */
  at: T.String(),
});

const TrialFile = T.Object({
  verdicts: T.Array(TrialResult),
  /** Digests of libraries by their path, with the stamp of the file that they were taken of. */
  digests: T.Record(T.String(), T.Object({ stamp: T.String(), sha256: T.String() })),
});

export type TrialResult = Static<typeof TrialResult>;
export type TrialFile = Static<typeof TrialFile>;

/** What a result is of. */
export type Trial = Pick<TrialResult, "backend" | "library" | "driver" | "model">;

export const everyModel = "*";

/** Models come and go; the oldest results are forgotten. */
const mostResults = 200;

export const trialFile = (dataDir: string): string => join(dataDir, "accelerators.json");

/** A file that is not there or damaged holds nothing: everything is tried again. */
export async function readTrials(path: string): Promise<TrialFile> {
  try {
    const content: unknown = JSON.parse(await readFile(path, "utf8"));
    if (Value.Check(TrialFile, content)) return content;
  } catch {
    // As below.
  }
  return { verdicts: [], digests: {} };
}

/** The result of a trial, if it was made with the same library and driver. */
export const findResult = (
  { verdicts }: TrialFile,
  { backend, library, driver, model }: Trial,
): TrialResult | undefined =>
  verdicts.findLast(
    (known) =>
      known.backend === backend &&
      known.library === library &&
      known.driver === driver &&
      (known.model === model || known.model === everyModel),
  );

/** Adds to what the file holds now; what it held on the same backend and model is replaced. */
export async function addResult(
  path: string,
  result: TrialResult,
  digests: TrialFile["digests"],
): Promise<void> {
  const known = await readTrials(path);
  const others = known.verdicts.filter(
    ({ backend, model }) =>
      backend !== result.backend || (model !== result.model && model !== everyModel),
  );
  const verdicts = [...others, result].slice(-mostResults);
  await write(path, { verdicts, digests: { ...known.digests, ...digests } });
}

/** Forgets what could not work, so that it is tried again. */
export async function forgetFailures(path: string): Promise<void> {
  const { verdicts, digests } = await readTrials(path);
  const working = verdicts.filter(({ failure }) => failure === undefined);
  if (working.length < verdicts.length) await write(path, { verdicts: working, digests });
}

async function write(path: string, content: TrialFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const aside = `${path}.${crypto.randomUUID()}.part`;
  try {
    await writeFile(aside, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
