/** The node's ingest queue: a caller's files one after the other, those of several callers at once and in turns, so that a large one holds up no others. */
import { reasonOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DocumentRegistry } from "../ports/document-registry.ts";
import { blameOf, failureOf, mostBlame, waitsAlone } from "./ingest-failure.ts";
import type { Failure, StoreFile } from "./records.ts";

export interface QueueParts {
  registry: DocumentRegistry;
  /** Ingests a file and records it as completed. */
  ingest: (file: StoreFile, signal: AbortSignal, course: Course) => Promise<void>;
  /** Deletes the passages of a file that was only partly stored. */
  discard: (file: StoreFile) => Promise<void>;
  /** Deletes removed and expired documents; called again and again, and no file waits for it. Never rejects. */
  cleanUp: (signal: AbortSignal) => Promise<void>;
  isOwned: () => boolean;
  log: Log;
}

interface Course {
  /** Whether the file waited before for what it needs. */
  hasWaited: boolean;
  /** Called whenever more of it is stored. */
  onEmbedded: () => void;
}

interface Job {
  file: StoreFile;
  begunAt: number;
  /** When it first stored more of its file than was stored before. */
  embeddedAt: number | undefined;
  /** The most files in progress since it began, itself included. */
  atOnce: number;
  controller: AbortController;
  done: Promise<void>;
}

/** Callers whose files are ingested at the same time: each file's text is held in memory. */
const mostAtOnce = 4;
/** A file's turn while another caller waits: so long, and as long as it took until more of it was stored. An interrupted file is read again, so at most half of the time is lost. */
const turnMs = 30_000;
/** How often to look for the end of a turn. */
const turnPollMs = 1000;
/** Pause of a store, or of a file, after a temporary failure; it doubles up to the longest, and is up to a quarter shorter or longer: files that failed together would otherwise do so again each time. */
const restMs = { first: 1000, longest: 30_000 };
const idleMs = 30_000;
/** How often to try to become the process that ingests files. */
const unownedMs = 2000;

export class IngestQueue {
  readonly #parts: QueueParts;
  readonly #jobs = new Set<Job>();
  /** Held files: `store`, `store/file` or `/file`. */
  readonly #held = new Map<string, number>();
  /** Stores and files (`store/file`) that are paused: until when, and how long the last pause was. */
  readonly #resting = new Map<string, { until: number; ms: number }>();
  /** What speaks against files since more of them was stored. */
  readonly #blame = new Map<string, number>();
  /** Why files are waiting. Not in the registry, because its disk may be the one that is full. */
  readonly #waits = new Map<string, Failure>();
  /** The order of the callers: each is last when it comes, and when a file of it has had its turn. */
  readonly #order = new Map<string | undefined, number>();
  #count = 0;
  #cleaning: Promise<void> | undefined;
  #wake = (): void => {};
  #isAwake = false;

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Why a file in progress is waiting; undefined: for its turn. */
  waitsFor(file: Pick<StoreFile, "store" | "file">): Failure | undefined {
    return this.#waits.get(keyOf(file));
  }

  /** Also of a file that was removed meanwhile: more of it may still be stored. */
  isIngesting(document: string): boolean {
    return [...this.#jobs].some(({ file }) => file.document === document);
  }

  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  /** Stops ingesting a store, or a file (with `store` empty, in every store) until the result is disposed of. */
  async hold(store: string, file?: string): Promise<Disposable> {
    const key = file === undefined ? store : `${store}/${file}`;
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    for (const job of [...this.#jobs].filter((each) => this.#isHeld(each.file))) {
      job.controller.abort(new Error("The file is not wanted any more."));
      await job.done;
    }
    this.#forget(store, file);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#held.get(key) ?? 1) - 1;
        if (left === 0) this.#held.delete(key);
        else this.#held.set(key, left);
        this.wake();
      },
    };
  }

  /** Works until the signal aborts; files in progress then are ingested at the next start. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.wake(), { once: true });
    let said = "";
    while (!signal.aborted) {
      this.#isAwake = false;
      try {
        const waitMs = await this.#step(signal);
        if (waitMs > 0) await this.#sleep(waitMs);
        said = "";
      } catch (error) {
        if (signal.aborted) break;
        const reason = reasonOf(error);
        if (reason !== said) this.#parts.log.error("files cannot be ingested now", { reason });
        said = reason;
        await this.#sleep(unownedMs);
      }
    }
    await Promise.all([this.#cleaning, ...[...this.#jobs].map(({ done }) => done)]);
  }

  async #step(signal: AbortSignal): Promise<number> {
    if (!this.#parts.isOwned()) return unownedMs;
    // Not waited for: one request may leave a thousand passages to delete, in as many collections.
    this.#cleaning ??= this.#parts.cleanUp(signal).finally(() => {
      this.#cleaning = undefined;
    });
    // One time for both: a rest that ends in between would be over for one of them only.
    const now = performance.now();
    const file = await this.#next(now);
    if (file === undefined) return this.#untilRested(now);
    if (this.#jobs.size >= mostAtOnce) {
      this.#endTurn(now);
      return turnPollMs;
    }
    void this.#ingest(file, signal);
    return 0;
  }

  /** Interrupts the file that has had its turn for longest; it continues when its caller is the next. */
  #endTurn(now: number): void {
    const jobs = [...this.#jobs];
    if (jobs.some(({ controller }) => controller.signal.aborted)) return;
    const [longest] = jobs
      .map((job) => ({ job, overMs: overtimeOf(job, now) }))
      .toSorted((a, b) => b.overMs - a.overMs);
    if (longest === undefined || longest.overMs < 0) return;
    longest.job.controller.abort(new Error("It is another caller's turn."));
  }

  async #next(now: number): Promise<StoreFile | undefined> {
    const { registry } = this.#parts;
    const owners = await registry.waitingOwners();
    const resting = [...this.#resting].filter(([, { until }]) => until > now);
    const passedBy = new Set([...resting.map(([key]) => key), ...this.#held.keys()]);
    for (const owner of this.#order.keys()) if (!owners.includes(owner)) this.#order.delete(owner);
    for (const owner of owners) if (!this.#order.has(owner)) this.#order.set(owner, ++this.#count);
    const busy = new Set([...this.#jobs].map(({ file }) => file.owner));
    const inOrder = [...this.#order].toSorted(([, a], [, b]) => a - b);
    for (const [owner] of inOrder.filter(([owner]) => !busy.has(owner))) {
      const file = await registry.nextOf(owner, passedBy);
      if (file !== undefined && !this.#isHeld(file)) return file;
    }
    return undefined;
  }

  async #ingest(file: StoreFile, stopping: AbortSignal): Promise<void> {
    // It may have been held since it was chosen.
    if (this.#isHeld(file)) return;
    const { registry } = this.#parts;
    const controller = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const begunAt = performance.now();
    const job: Job = { file, begunAt, embeddedAt: undefined, atOnce: 1, controller, done };
    this.#jobs.add(job);
    for (const each of this.#jobs) each.atOnce = Math.max(each.atOnce, this.#jobs.size);
    try {
      if (!(await registry.begin(file.store, file.file))) return;
      const signal = AbortSignal.any([stopping, controller.signal]);
      signal.throwIfAborted();
      const hasWaited = this.#waits.has(keyOf(file));
      const onEmbedded = (): void => {
        job.embeddedAt ??= performance.now();
        this.#blame.delete(keyOf(file));
      };
      await this.#parts.ingest(file, signal, { hasWaited, onEmbedded });
      this.#settled(file);
    } catch (error) {
      // If it was held, the holder deletes its passages; if its turn is over or the node stops, it continues later.
      if (!stopping.aborted && !controller.signal.aborted) {
        // If the registry cannot be written either, the file is retried.
        await this.#fail(job, error).catch((worse: unknown) => {
          this.#rest(file.store);
          this.#parts.log.error("files cannot be ingested now", { reason: reasonOf(worse) });
        });
      }
    } finally {
      this.#jobs.delete(job);
      this.#order.set(file.owner, ++this.#count);
      resolve();
      this.wake();
    }
  }

  async #fail({ file, atOnce }: Job, error: unknown): Promise<void> {
    const { registry, discard, log } = this.#parts;
    // One that was deleted meanwhile says nothing of its store, in which others wait.
    const [known] = await registry.inStore(file.store, [file.file]);
    if (known?.status !== "in_progress") return;
    const blame = (this.#blame.get(keyOf(file)) ?? 0) + blameOf(error, atOnce);
    this.#blame.set(keyOf(file), blame);
    const failure = failureOf(error);
    const fields = { store: file.store, file: file.file, filename: file.filename };
    if (blame < mostBlame) {
      this.#waits.set(keyOf(file), failure);
      this.#rest(waitsAlone(error, blame) ? keyOf(file) : file.store);
      log.warn("a file waits to be ingested", { ...fields, reason: reasonOf(error) });
      return;
    }
    this.#settled(file);
    log.info("a file was not ingested", { ...fields, reason: reasonOf(error) });
    await discard(file);
    await registry.settle({ ...file, status: "failed", failure });
  }

  #rest(key: string): void {
    const ms = Math.min(restMs.longest, 2 * (this.#resting.get(key)?.ms ?? restMs.first / 2));
    const until = performance.now() + ms * (0.75 + Math.random() / 2);
    this.#resting.set(key, { until, ms });
  }

  #settled(file: StoreFile): void {
    this.#resting.delete(file.store);
    for (const entries of [this.#resting, this.#blame, this.#waits]) entries.delete(keyOf(file));
  }

  #untilRested(now: number): number {
    const waits = [...this.#resting.values()].map(({ until }) => until - now);
    return Math.min(idleMs, ...waits.filter((ms) => ms > 0));
  }

  /** A held file is removed or added again, so what speaks against it and its waits no longer count. */
  #forget(store: string, file: string | undefined): void {
    for (const entries of [this.#resting, this.#blame, this.#waits]) {
      for (const key of entries.keys()) {
        const isOf = file === undefined ? key.startsWith(`${store}/`) : key.endsWith(`/${file}`);
        if (isOf && key.startsWith(store)) entries.delete(key);
      }
    }
    if (file === undefined) this.#resting.delete(store);
  }

  #isHeld({ store, file }: StoreFile): boolean {
    return (
      this.#held.has(store) || this.#held.has(`${store}/${file}`) || this.#held.has(`/${file}`)
    );
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#isAwake) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }
}

/** How long ago its turn was over; negative if it is not. */
const overtimeOf = ({ begunAt, embeddedAt }: Job, now: number): number =>
  embeddedAt === undefined
    ? Number.NEGATIVE_INFINITY
    : now - embeddedAt - Math.max(turnMs, embeddedAt - begunAt);

const keyOf = ({ store, file }: Pick<StoreFile, "store" | "file">): string => `${store}/${file}`;
