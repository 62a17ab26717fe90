/** Queue of uploads into collections, a few at a time; failed ones stay to be retried. */
import { computed, signal } from "@preact/signals";
import type { FileObject } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { newId } from "../browser.ts";
import type { Failure } from "../failure.ts";

export type UploadFailure = Pick<Failure, "message" | "canRetry">;

export interface Upload {
  id: string;
  file: File;
  /** The collection's id, and its name when the upload began. */
  store: string;
  storeName: string;
  state: "waiting" | "sending" | "adding" | "failed";
  sentBytes: number;
  failure?: UploadFailure;
  /** Set if it was sent but could not be added: a retry does not send it a second time. */
  sent?: FileObject;
}

export interface UploadSteps {
  /** Why a file cannot be uploaded; undefined if it can. */
  refusalOf: (file: File) => string | undefined;
  send: (
    file: File,
    options: { signal: AbortSignal; onProgress: (bytes: number) => void },
  ) => Promise<FileObject>;
  add: (store: string, sent: FileObject, signal: AbortSignal) => Promise<unknown>;
  /** Deletes a file that was sent and is not wanted. */
  discard: (sent: FileObject) => void;
  failureOf: (error: unknown) => UploadFailure;
  onAdded: (upload: Upload) => void;
  onRest: (added: number, failed: readonly Upload[]) => void;
}

const atOnce = 2;

export class UploadQueue {
  readonly uploads = signal<readonly Upload[]>([]);
  readonly active = computed(() => this.uploads.value.filter(({ state }) => state !== "failed"));
  readonly failed = computed(() => this.uploads.value.filter(({ state }) => state === "failed"));
  readonly #steps: UploadSteps;
  readonly #running = new Map<string, AbortController>();
  #added = 0;

  constructor(steps: UploadSteps) {
    this.#steps = steps;
  }

  give(files: readonly File[], store: { id: string; name: string }): void {
    const given = files.map((file): Upload => {
      const base = { id: newId(), file, store: store.id, storeName: store.name, sentBytes: 0 };
      const refusal = this.#steps.refusalOf(file);
      return refusal === undefined
        ? { ...base, state: "waiting" }
        : { ...base, state: "failed", failure: { message: refusal, canRetry: false } };
    });
    this.uploads.value = [...this.uploads.value, ...given];
    this.#next();
  }

  retry(...uploads: readonly Upload[]): void {
    const ids = idsOf(uploads);
    this.uploads.value = this.uploads.value.map((upload) => {
      if (!ids.has(upload.id) || upload.failure?.canRetry !== true) return upload;
      const { failure: _, ...rest } = upload;
      return { ...rest, state: "waiting", sentBytes: 0 };
    });
    this.#next();
  }

  /** Cancels uploads, and removes them from the queue. */
  drop(...uploads: readonly Upload[]): void {
    const ids = idsOf(uploads);
    const dropped = this.uploads.value.filter(({ id }) => ids.has(id));
    this.uploads.value = this.uploads.value.filter(({ id }) => !ids.has(id));
    for (const { id, sent } of dropped) {
      this.#running.get(id)?.abort();
      if (sent !== undefined && !this.#running.has(id)) this.#steps.discard(sent);
    }
    this.#next();
  }

  #next(): void {
    const waiting = this.uploads.value.filter(({ state }) => state === "waiting");
    for (const upload of waiting.slice(0, atOnce - this.#running.size)) void this.#run(upload);
    if (this.#running.size > 0 || waiting.length > 0) return;
    if (this.#added > 0 || this.failed.value.length > 0) {
      this.#steps.onRest(this.#added, this.failed.value);
    }
    this.#added = 0;
  }

  async #run(upload: Upload): Promise<void> {
    const { id, file, store } = upload;
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(id, controller);
    let { sent } = upload;
    try {
      if (sent === undefined) {
        this.#change(id, { state: "sending" });
        const onProgress = (sentBytes: number): void => this.#change(id, { sentBytes });
        sent = await this.#steps.send(file, { signal, onProgress });
      }
      this.#change(id, { state: "adding", sentBytes: file.size, sent });
      await this.#steps.add(store, sent, signal);
      this.uploads.value = this.uploads.value.filter((one) => one.id !== id);
      this.#added++;
      this.#steps.onAdded(upload);
    } catch (error) {
      if (signal.aborted && sent !== undefined) this.#steps.discard(sent);
      if (!signal.aborted) {
        this.#change(id, { state: "failed", failure: this.#steps.failureOf(error) });
      }
    }
    this.#running.delete(id);
    this.#next();
  }

  #change(id: string, change: Partial<Upload>): void {
    this.uploads.value = this.uploads.value.map((upload) =>
      upload.id === id ? { ...upload, ...change } : upload,
    );
  }
}

const idsOf = (uploads: readonly Upload[]) => new Set(uploads.map(({ id }) => id));

/** Why a file cannot be uploaded, as a sentence; undefined if it can. */
export function refusalOf(
  { size }: { size: number },
  maxFileBytes: number | undefined,
): string | undefined {
  if (size === 0) return "It is empty: there is nothing to read in it.";
  if (maxFileBytes !== undefined && size > maxFileBytes) {
    return `It has ${byteSize(size)}, and this node takes files of at most ${byteSize(maxFileBytes)}.`;
  }
  return undefined;
}

const longestName = 200;

/** Without invisible characters, which the node rejects, and short enough; the extension stays. */
export function sentName(name: string): string {
  const seen = name
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    // Browsers would send it as %22 in a form.
    .replaceAll('"', "'")
    .trim();
  if (seen === "" || seen === "." || seen === "..") return "document";
  if (seen.length <= longestName) return seen;
  const ending = /\.[^.]{1,16}$/u.exec(seen)?.[0] ?? "";
  return `${seen.slice(0, longestName - ending.length).toWellFormed()}${ending}`;
}

export const counted = (count: number, thing: string): string =>
  `${count} ${thing}${count === 1 ? "" : "s"}`;
