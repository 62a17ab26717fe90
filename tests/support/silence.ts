/** A log and a progress that nobody reads. */
import type { Log } from "../../src/core/log.ts";
import { noProgress } from "../../src/core/progress.ts";

const ignore = (): void => {};

export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export const silentProgress = noProgress;
