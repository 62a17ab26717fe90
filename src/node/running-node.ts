/** The record of a running node in its data dir: `paddock reload` finds the process in it, and reads the outcome. */
import { readdir, readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { writeAtomically } from "../models/files.ts";

/** The processes of this machine, or of this container. */
export interface Processes {
  id: number;
  /** Distinguishes a process from a later one with the same id; undefined: there is no such process. */
  startOf(id: number): string | undefined;
  hangUp(id: number): void;
}

export interface ReloadOutcome {
  changed: string[];
  needsRestart: string[];
  /** Why nothing was changed. */
  error?: string;
}

export interface NodeRecord {
  id: string;
  pid: number;
  /** The start of its process, from `Processes.startOf`; version 0.2.0 did not record it. */
  processStart?: string;
  /** Host name of the machine or container that it runs on. */
  host: string;
  startedAt: string;
  /** The address that it listens on. */
  address: string;
  /** The configuration file that it reads, absolute; null: none. */
  config: string | null;
  /** The last reload; `begunAt` in milliseconds. */
  reload?: ReloadOutcome & { begunAt: number };
}

export interface RunningNodeOptions extends Pick<NodeRecord, "address" | "config"> {
  dataDir: string;
  processes: Processes;
  onHangup: (hear: () => void) => Disposable;
  /** Reads the configuration again; never throws. */
  reload: () => Promise<ReloadOutcome>;
  log: Log;
}

export class RunningNode implements AsyncDisposable {
  readonly #options: RunningNodeOptions;
  readonly #record: NodeRecord;
  #last: Promise<unknown> = Promise.resolve();
  /** Listens for SIGHUP as long as the record can be found: without a listener, the signal ends the process. */
  readonly #hangups: Disposable;
  #isOver = false;

  /** A node that cannot write to its data dir still runs. */
  static async announce(options: RunningNodeOptions): Promise<RunningNode> {
    const { dataDir, processes, log } = options;
    const node = new RunningNode(options);
    try {
      await findNodes(dataDir, processes);
      await node.#write();
    } catch (error) {
      log.warn("the data dir cannot be written to: 'paddock reload' does not find this node", {
        reason: reasonOf(error),
      });
    }
    return node;
  }

  private constructor(options: RunningNodeOptions) {
    this.#options = options;
    const { address, config, processes } = options;
    this.#record = {
      id: crypto.randomUUID(),
      pid: processes.id,
      processStart: processes.startOf(processes.id) ?? "",
      host: hostname(),
      startedAt: new Date().toISOString(),
      address,
      config,
    };
    this.#hangups = options.onHangup(() => void this.reload());
  }

  reload(): Promise<unknown> {
    this.#last = this.#last.then(async () => {
      if (this.#isOver) return;
      const begunAt = Date.now();
      this.#record.reload = { ...(await this.#options.reload()), begunAt };
      await this.#write().catch((error: unknown) => {
        const reason = reasonOf(error);
        this.#options.log.warn("the outcome of a reload could not be saved", { reason });
      });
    });
    return this.#last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#last;
    // A record that cannot be removed is recognized as stale, since its process is gone.
    await removeRecord(this.#options.dataDir, this.#record.id).catch(() => {});
    this.#hangups[Symbol.dispose]();
  }

  async #write(): Promise<void> {
    const path = recordPath(this.#options.dataDir, this.#record.id);
    await writeAtomically(path, (file) => file.writeFile(JSON.stringify(this.#record)));
  }
}

/** Those of other hosts may be gone. Removes records of version 0.2.0, and of nodes that were killed on this host. */
export async function findNodes(dataDir: string, processes: Processes) {
  const here: NodeRecord[] = [];
  const onOtherHosts: NodeRecord[] = [];
  const names = (await unlessMissing(readdir(folderOf(dataDir)))) ?? [];
  for (const name of names.filter((each) => each.endsWith(ending))) {
    const record = await readRecord(dataDir, name.slice(0, -ending.length));
    if (record === undefined) continue;
    const { id, pid, processStart, host } = record;
    const isOld = processStart === undefined;
    if (!isOld && processStart === processes.startOf(pid)) here.push(record);
    else if (isOld || host === hostname()) await removeRecord(dataDir, id);
    else onOtherHosts.push(record);
  }
  return { here, onOtherHosts };
}

const pollMs = 50;

/** Sends the node SIGHUP and waits for the outcome; undefined: there was none in time. */
export async function requestReload(
  dataDir: string,
  { id, pid }: NodeRecord,
  options: { processes: Processes; withinMs: number; signal: AbortSignal },
): Promise<ReloadOutcome | undefined> {
  const { processes, withinMs, signal } = options;
  const sentAt = Date.now();
  try {
    processes.hangUp(pid);
  } catch (error) {
    if (hasCode(error, "ESRCH")) return undefined;
    throw error;
  }
  const end = performance.now() + withinMs;
  while (performance.now() < end) {
    const record = await readRecord(dataDir, id);
    if (record === undefined) return undefined;
    // An earlier reload may not have seen the latest change of the file.
    if (record.reload !== undefined && record.reload.begunAt >= sentAt) return record.reload;
    await sleep(pollMs, undefined, { signal });
  }
  return undefined;
}

/** A folder, since several nodes may share a data dir. */
const folderOf = (dataDir: string): string => join(dataDir, "nodes");
const ending = ".json";

export const recordPath = (dataDir: string, id: string): string =>
  join(folderOf(dataDir), `${id}${ending}`);

const removeRecord = (dataDir: string, id: string): Promise<void> =>
  rm(recordPath(dataDir, id), { force: true });

/** Undefined if there is none, or the file holds something else. */
async function readRecord(dataDir: string, id: string): Promise<NodeRecord | undefined> {
  const text = (await unlessMissing(readFile(recordPath(dataDir, id), "utf8"))) ?? "";
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && value.id === id ? value : undefined;
  } catch {
    return undefined;
  }
}

async function unlessMissing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function isRecord(value: unknown): value is NodeRecord {
  if (typeof value !== "object" || value === null) return false;
  const fields: Partial<Record<keyof NodeRecord, unknown>> = value;
  const { id, pid, processStart, host, startedAt, address, config, reload } = fields;
  return (
    [id, processStart ?? "", host, startedAt, address].every((text) => typeof text === "string") &&
    Number.isSafeInteger(pid) &&
    (config === null || typeof config === "string") &&
    (reload === undefined || (typeof reload === "object" && reload !== null))
  );
}
