/** A pool of open collections: opened on demand, and the least recently used closed. */
import { NodeError } from "../errors.ts";
import type { CollectionSpec, PassageRepository } from "../ports/passage-repository.ts";
import { findMismatch, type OpenCollection, openExisting } from "../retrieval/collection.ts";
import { Places } from "../turns.ts";
import type { DocumentParts } from "./documents.ts";
import type { StoreOutline } from "./records.ts";

/** Holds a collection open until it is disposed of. */
export interface CollectionLease extends OpenCollection, Disposable {}

interface Opened {
  collection: Promise<OpenCollection | undefined>;
  users: number;
  usedAt: number;
  /** Whether it was attached: the pool does not close it. */
  isLent: boolean;
}

type CollectionParts = Pick<DocumentParts, "store" | "log"> & {
  /** The spec of new collections; throws while the embedding model is not ready. */
  spec: () => CollectionSpec;
  /** Not waited for. */
  onOpen?: (name: string) => Promise<void>;
};

/** Each has an open file and up to two threads of its own. */
export const mostOpen = 16;

export class OpenCollections implements AsyncDisposable {
  readonly #parts: CollectionParts;
  readonly #opened = new Map<string, Opened>();
  #uses = 0;

  constructor(parts: CollectionParts) {
    this.#parts = parts;
  }

  /** Undefined if there is no such collection; throws for one that another model filled. */
  async lease(name: string): Promise<CollectionLease | undefined> {
    const opened = this.#opened.get(name) ?? this.#open(name);
    opened.users++;
    opened.usedAt = ++this.#uses;
    using use = new DisposableStack();
    use.defer(() => {
      opened.users--;
      void this.#closeIdle();
    });
    const collection = await opened.collection.catch((error: unknown) => {
      this.#forget(name, opened);
      throw error;
    });
    if (collection === undefined) {
      // Forget the miss, so that a caller that creates the collection finds it.
      this.#forget(name, opened);
      return undefined;
    }
    const lease = use.move();
    return { ...collection, [Symbol.dispose]: () => lease.dispose() };
  }

  /** `check`: may refuse to create it. */
  async leaseOrCreate(name: string, check?: () => Promise<void>): Promise<CollectionLease> {
    const found = await this.lease(name);
    if (found !== undefined) return found;
    await check?.();
    const made = await this.#parts.store.create(name, this.#parts.spec());
    await made[Symbol.asyncDispose]();
    const lease = await this.lease(name);
    if (lease !== undefined) return lease;
    throw new NodeError("unavailable", `The collection '${name}' is removed each time it is made.`);
  }

  /** Adds a collection that is already open; its owner disposes of it. */
  async attach(name: string, collection: OpenCollection): Promise<void> {
    await this.#close(name);
    const opened = { collection: Promise.resolve(collection), users: 0, usedAt: 0, isLent: true };
    this.#opened.set(name, opened);
    void this.#parts.onOpen?.(name);
  }

  async drop(name: string, { forGood }: { forGood: boolean }): Promise<void> {
    await this.#close(name);
    await this.#parts.store.drop(name, { forGood });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#opened.keys()].map((name) => this.#close(name)));
  }

  #open(name: string): Opened {
    const opened = { collection: this.#openExisting(name), users: 0, usedAt: 0, isLent: false };
    this.#opened.set(name, opened);
    void this.#parts.onOpen?.(name);
    return opened;
  }

  async #openExisting(name: string): Promise<OpenCollection | undefined> {
    const { store, spec, log } = this.#parts;
    const wanted = spec();
    const found = await openExisting(store, name, wanted, log);
    if (found === undefined) return undefined;
    await using opened = new AsyncDisposableStack();
    const { repository } = found;
    opened.use(repository);
    const mismatch = findMismatch(await repository.describe(), wanted);
    if (mismatch !== undefined) {
      throw new NodeError("invalid_request", `${mismatch} Use one that this model filled.`);
    }
    opened.move();
    return found;
  }

  #forget(name: string, opened: Opened): void {
    if (this.#opened.get(name) === opened) this.#opened.delete(name);
  }

  async #closeIdle(): Promise<void> {
    const idle = [...this.#opened]
      .filter(([, { users, isLent }]) => users === 0 && !isLent)
      .sort(([, a], [, b]) => a.usedAt - b.usedAt);
    const excess = idle.slice(0, Math.max(0, this.#opened.size - mostOpen));
    for (const [name] of excess) await this.#close(name);
  }

  async #close(name: string): Promise<void> {
    const opened = this.#opened.get(name);
    if (opened === undefined) return;
    this.#opened.delete(name);
    const collection = await opened.collection.catch(() => undefined);
    while (opened.users > 0) await new Promise((resolve) => setTimeout(resolve, pollMs));
    if (!opened.isLent) await collection?.repository[Symbol.asyncDispose]();
  }
}

const pollMs = 5;

/** Adds a file to a vector store for each document that others put into its collection; a store made over HTTP has none. */
export function adoptFilesWith(
  { registry, store: all, now }: Pick<DocumentParts, "registry" | "store" | "now">,
  collections: OpenCollections,
  /** Told of a collection that seems to lack documents of files that were added over HTTP. */
  onLost: (collection: string) => Promise<void>,
) {
  /** The revision of each collection when its documents were last read, and the place of that among all that was asked. */
  const seen = new Map<string, { revision: string; begun: number }>();
  let asks = 0;
  const looks = new Places(1);
  return async (store: StoreOutline, open?: PassageRepository): Promise<void> => {
    if (store.isOwn) return;
    using lease = open ? undefined : await collections.lease(store.collection);
    const repository = open ?? lease?.repository;
    if (repository === undefined) {
      // What was said about its documents holds when it is back.
      if (!(await all.isMissing(store.collection))) await registry.reconcile(store, "[]", now());
      return;
    }
    const asked = ++asks;
    const revision = await repository.revision();
    // A list may be of hundreds of thousands: one is held at a time, and serves all that wait for it.
    await looks.run(store.id, async () => {
      const last = seen.get(store.id);
      // One that began later has what there was, also of a collection that changes all the time.
      if (last !== undefined && (last.revision === revision || last.begun > asked)) return;
      const begun = ++asks;
      const documents = await repository.documents();
      const hidden = await registry.hidden(store.collection);
      const found = documents
        .filter(({ name }) => !hidden.has(name))
        .map(({ name, passages }) => [name, passages]);
      const isWhole = await registry.reconcile(store, JSON.stringify(found), now());
      if (!isWhole) void onLost(store.collection);
      seen.set(store.id, { revision, begun });
    });
  };
}
