/** A model's trial on a backend in a process of its own, for who loads it elsewhere: a crash is found, not suffered. */
import type { Log } from "../core/log.ts";
import { noProgress } from "../core/progress.ts";
import { type RunnerOptions, startRunner } from "./runner-process.ts";

/** Says which engine it was; where the backend does not work, it fails with a BackendFailure. */
export async function tryBackend(
  options: RunnerOptions,
  signal: AbortSignal,
): Promise<{ version: string }> {
  const tried = await startRunner(
    { ...options, log: quiet },
    { progress: noProgress, signal, onItems: () => {} },
  );
  await tried.end();
  return { version: tried.version };
}

const ignore = (): void => {};
/** Whoever loads the model for good says what there is to say. */
const quiet: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
