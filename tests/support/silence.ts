/** A log and a progress that nobody reads. */
import type { Log } from "../../src/core/log.ts";
import type { Progress } from "../../src/core/progress.ts";

const ignore = (): void => {};

export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export const silentProgress: Progress = { step: () => ({ update: ignore, finish: ignore }) };
