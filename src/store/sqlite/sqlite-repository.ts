/** Passages in an embedded SQLite file: nothing to install, and nothing is lost in a crash. One thread finds vectors and another words, since a question asks for both; a third does everything else. */
import { availableParallelism } from "node:os";
import { reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type {
  CollectionDescription,
  EmbeddedPassage,
  Passage,
  PassageRepository,
  StoredDocument,
} from "../../core/ports/passage-repository.ts";
import { checkVector } from "../../core/retrieval/collection.ts";
import { namesOf } from "../document-names.ts";
import type { Remote } from "../thread-calls.ts";
import { pageSize, removalSlice, toVector } from "./collection-file.ts";
import type { CollectionRows, OpenedCollection } from "./collection-rows.ts";

/** The same for a collection in memory. */
export interface CollectionThreads {
  questions: Remote<CollectionRows>;
  words: Remote<CollectionRows>;
  changes: Remote<CollectionRows>;
}

/** How fast the index grows: vectors of one step of its graphs, and threads for them. */
export interface Pace {
  vectors: number;
  threads: number;
  /** Whether passages are being stored or removed. */
  isChanging: boolean;
}

const fullPace = { vectors: 1024, threads: availableParallelism() };
const quietPace = { vectors: 32, threads: 1 };
/** How long after a question or a change the index grows slowly. */
const busyForMs = 1000;
/** How often a question looks for rows that another process stored, and left to be indexed. */
const followEveryMs = 5000;
/** How long an index that could not be built is left alone: a disk that was full may have room by then. */
const pauseMs = 300_000;

export class SqliteRepository implements PassageRepository {
  readonly matchesWords: boolean;
  readonly #name: string;
  readonly #dimension: number;
  readonly #questions: Remote<CollectionRows>;
  readonly #words: Remote<CollectionRows>;
  readonly #changes: Remote<CollectionRows>;
  readonly #log: Log;
  #asking = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #followedAt = 0;
  #changedAt = Number.NEGATIVE_INFINITY;
  #later: NodeJS.Timeout | undefined;
  #indexing: Promise<void> | undefined;
  #isClosed = false;
  #pausedUntil = 0;
  #problem: string | undefined;

  constructor(name: string, opened: OpenedCollection, threads: CollectionThreads, log: Log) {
    this.#name = name;
    this.#dimension = opened.dimension;
    this.matchesWords = opened.matchesWords;
    this.#questions = threads.questions;
    this.#words = threads.words;
    this.#changes = threads.changes;
    this.#log = log;
    this.#follow();
  }

  describe(): Promise<CollectionDescription> {
    return this.#questions.describe();
  }

  count(): Promise<number> {
    return this.#questions.count();
  }

  revision(): Promise<string> {
    return this.#questions.revision();
  }

  async documents(): Promise<StoredDocument[]> {
    const documents: StoredDocument[] = [];
    for (;;) {
      const page = await this.#changes.documents(documents.at(-1)?.name ?? null);
      documents.push(...page);
      if (page.length < pageSize) return documents;
    }
  }

  async *passages(document?: string): AsyncGenerator<EmbeddedPassage> {
    for (let last = { key: 0, position: -1 }; ; ) {
      const rows = await this.#changes.passages(last, document);
      for (const { key, vector, ...passage } of rows) {
        yield { ...passage, vector: toVector(vector).slice() };
        last = { key, position: passage.position };
      }
      if (rows.length < pageSize) return;
    }
  }

  page(document: string, range: { from: number; limit: number }): Promise<Passage[]> {
    return this.#questions.page(document, range);
  }

  read(ids: readonly string[]): Promise<Passage[]> {
    return this.#questions.read(ids);
  }

  async upsert(passages: readonly EmbeddedPassage[]): Promise<void> {
    for (const { vector } of passages) this.#checkVector(vector);
    // A vector may be a view, whose whole buffer would be sent.
    const vectors = new Float32Array(passages.length * this.#dimension);
    for (const [at, { vector }] of passages.entries()) vectors.set(vector, at * this.#dimension);
    await this.#changes.upsert(
      passages.map(({ vector, ...passage }) => passage),
      vectors,
    );
    this.#changedAt = performance.now();
    this.#follow();
  }

  async delete(document: string, keep: ReadonlySet<string> = new Set()): Promise<number> {
    let removed = 0;
    for (let last = 0; ; ) {
      const found = await this.#changes.ids(document, last, removalSlice);
      const gone = found.filter(({ id }) => !keep.has(id)).map(({ key }) => key);
      if (gone.length > 0) removed += await this.#changes.remove(gone);
      this.#changedAt = performance.now();
      last = found.at(-1)?.key ?? last;
      if (found.length < removalSlice) break;
    }
    this.#follow();
    return removed;
  }

  search: PassageRepository["search"] = async (vector, bounds, documents) => {
    this.#checkVector(vector);
    return await this.#ask(this.#questions.search(vector.slice(), bounds, namesOf(documents)));
  };

  matchWords: PassageRepository["matchWords"] = async (text, vector, limit, documents) => {
    this.#checkVector(vector);
    if (!this.matchesWords) return [];
    return await this.#ask(this.#words.matchWords(text, vector.slice(), limit, namesOf(documents)));
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#later);
    await this.#indexing;
    await this.#questions[Symbol.asyncDispose]();
    await this.#words[Symbol.asyncDispose]();
    await this.#changes[Symbol.asyncDispose]();
  }

  async #ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#asking++;
    try {
      return await answer;
    } finally {
      this.#asking--;
      this.#askedAt = performance.now();
      if (this.#askedAt - this.#followedAt > followEveryMs) this.#follow();
    }
  }

  /** What was too little for a segment is enough when nothing more comes. */
  #followAgain(): void {
    this.#later = undefined;
    this.#follow();
  }

  /** Updates the index in the background. */
  #follow(): void {
    if (this.#indexing !== undefined || this.#isClosed) return;
    if (performance.now() < this.#pausedUntil) return;
    this.#followedAt = performance.now();
    this.#indexing = this.#index()
      .catch((error: unknown) => this.#giveUp(error))
      .finally(() => {
        this.#indexing = undefined;
      });
  }

  async #index(): Promise<void> {
    await this.#readFiles();
    if (this.#isClosed || (await this.#questions.isIndexed())) return;
    while (!this.#isClosed) {
      const isAsked = this.#asking > 0 || performance.now() - this.#askedAt < busyForMs;
      const isChanging = performance.now() - this.#changedAt < busyForMs;
      // What is to be stored waits for a step too.
      const pace = { ...(isAsked || isChanging ? quietPace : fullPace), isChanging };
      if ((await this.#changes.index(pace)) === "done") {
        if (isChanging) this.#later ??= setTimeout(() => this.#followAgain(), busyForMs).unref();
        return;
      }
      await this.#readFiles();
    }
  }

  /** Has the threads read what was stored meanwhile, so that a question need not wait for it. A damaged file must not be searched, and reading all of it takes a while. */
  async #readFiles(): Promise<void> {
    while (!this.#isClosed) {
      const [file] = await Promise.all([this.#questions.unread(), this.#words.unread()]);
      if (file === undefined) return;
      await this.#questions.wasRead(file, await this.#changes.isWhole(file));
    }
  }

  /** Results stay right without the index; questions only take longer. */
  #giveUp(error: unknown): void {
    if (this.#isClosed) return;
    this.#pausedUntil = performance.now() + pauseMs;
    const reason = reasonOf(error);
    if (reason === this.#problem) return;
    this.#problem = reason;
    const message =
      "the index of a collection cannot be built; its passages are compared one by one, until it is tried again after five minutes";
    this.#log.warn(message, { collection: this.#name, reason });
  }

  #checkVector(vector: Float32Array): void {
    checkVector(vector, { name: this.#name, dimension: this.#dimension });
  }
}
