/** A running node as its data dir knows it: announced at its start, asked to reload, gone at its end. */
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { reasonOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import {
  listRecords,
  listRequests,
  type NodeRecord,
  type ReloadOutcome,
  recordPath,
  removeRecord,
  requestPath,
  writeText,
} from "./node-record.ts";

/** What a process may know of itself and others. */
export interface Processes {
  /** Its own. */
  id: number;
  isAlive(id: number): boolean;
}

export interface RunningNodeOptions {
  dataDir: string;
  processes: Processes;
  /** Where it listens. */
  address: string;
  /** The configuration file, absolute; undefined: none. */
  config: string | undefined;
  /** Reads the configuration again; never fails. */
  reload: () => Promise<ReloadOutcome>;
  log: Log;
}

/** How often it looks whether somebody asks. */
const pollMs = 250;

export class RunningNode implements AsyncDisposable {
  readonly #options: RunningNodeOptions;
  readonly #record: NodeRecord;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Reloads come one after another. */
  #last: Promise<unknown> = Promise.resolve();
  #isLooking = false;
  /** Why it could not look, where that was said. */
  #saidWhy: string | undefined;

  /** A node whose data dir cannot be written to runs all the same; no command finds it then. */
  static async announce(options: RunningNodeOptions): Promise<RunningNode> {
    const { dataDir, processes, log } = options;
    const node = new RunningNode(options);
    try {
      await removeStale(dataDir, processes);
      await node.#write();
    } catch (error) {
      clearInterval(node.#timer);
      const reason = reasonOf(error);
      log.warn("the data dir cannot be written to: 'paddock reload' does not find this node", {
        reason,
      });
    }
    return node;
  }

  private constructor(options: RunningNodeOptions) {
    this.#options = options;
    const { address, config = null, processes } = options;
    this.#record = {
      id: crypto.randomUUID(),
      pid: processes.id,
      host: hostname(),
      startedAt: new Date().toISOString(),
      address,
      config,
    };
    this.#timer = setInterval(() => void this.#look(), pollMs);
    this.#timer.unref();
  }

  /** Reads the configuration again, after what was asked before; `requests`: who asks. */
  reload(requests: string[] = []): Promise<void> {
    const done = this.#last.then(async () => {
      const outcome = await this.#options.reload();
      this.#record.reload = { ...outcome, requests, at: new Date().toISOString() };
      await this.#write().catch((error: unknown) => {
        const reason = reasonOf(error);
        this.#options.log.warn("what came of a reload could not be written down", { reason });
      });
    });
    this.#last = done;
    return done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#last;
    // What cannot be removed is recognised as stale.
    await removeRecord(this.#options.dataDir, this.#record.id).catch(() => {});
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { dataDir } = this.#options;
      const { id } = this.#record;
      const requests = await listRequests(dataDir, id);
      if (requests.length === 0) return;
      for (const request of requests) await rm(requestPath(dataDir, id, request), { force: true });
      await this.reload(requests);
      this.#saidWhy = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== this.#saidWhy) {
        this.#options.log.warn("nobody can ask for a reload", { reason });
      }
      this.#saidWhy = reason;
    } finally {
      this.#isLooking = false;
    }
  }

  async #write(): Promise<void> {
    const { id } = this.#record;
    await writeText(recordPath(this.#options.dataDir, id), JSON.stringify(this.#record));
  }
}

/** Whether the node was killed: its process is gone, or has become this one. */
export const isStale = ({ host, pid }: NodeRecord, processes: Processes): boolean =>
  host === hostname() && (pid === processes.id || !processes.isAlive(pid));

async function removeStale(dataDir: string, processes: Processes): Promise<void> {
  for (const record of await listRecords(dataDir)) {
    if (isStale(record, processes)) await removeRecord(dataDir, record.id);
  }
}
