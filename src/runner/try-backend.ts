/** A model's trial on a backend in a process of its own, for who loads it elsewhere: a crash is found, not suffered. */
import { noLog } from "../core/log.ts";
import { noProgress } from "../core/progress.ts";
import { type RunnerOptions, startRunner } from "./runner-process.ts";

/** Says which engine it was; where the backend does not work, it fails with a BackendFailure. */
export async function tryBackend(
  options: Omit<RunnerOptions, "stepTimeoutMs">,
  signal: AbortSignal,
): Promise<{ version: string }> {
  const tried = await startRunner(
    // It is over when the model is loaded.
    { ...options, stepTimeoutMs: 0, log: noLog },
    { progress: noProgress, signal, onItems: () => {} },
  );
  await tried.end();
  return { version: tried.version };
}
