/** Asks a running node to read its configuration again, and waits for what comes of it. */
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type NodeRecord,
  type ReloadOutcome,
  readRecord,
  requestPath,
  writeText,
} from "./node-record.ts";

const pollMs = 50;

/** Undefined: it did not answer in time, and is not asked any more. */
export async function askToReload(
  dataDir: string,
  { id }: NodeRecord,
  { withinMs, signal }: { withinMs: number; signal: AbortSignal },
): Promise<ReloadOutcome | undefined> {
  const request = crypto.randomUUID();
  const path = requestPath(dataDir, id, request);
  await writeText(path, "");
  try {
    const end = performance.now() + withinMs;
    while (performance.now() < end) {
      const reload = (await readRecord(dataDir, id))?.reload;
      if (reload?.requests.includes(request) === true) return reload;
      await sleep(pollMs, undefined, { signal });
    }
    return undefined;
  } finally {
    await rm(path, { force: true });
  }
}
