/** A collection's file while it is open: notices when another takes its place, or it is gone. */
import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { CollectionSpec } from "../../core/ports/passage-repository.ts";
import {
  changeOf,
  emptyLogIfFree,
  type FileStamp,
  idleMs,
  isWritable,
  stampOf,
} from "../database.ts";
import { isOverwritten, setForeignLogAside } from "../foreign-log.ts";
import { describe, dimensionIn, openDatabase } from "./collection-file.ts";
import { CollectionSearch, type Finds } from "./collection-search.ts";
import { hasSegments, readMeta } from "./collection-tables.ts";
import { Indexing, type SegmentSizes } from "./indexing.ts";

export interface CollectionPlace {
  name: string;
  path: string;
  /** Where the index has its files; absent: it has none. */
  folder?: string;
  segmentSizes?: SegmentSizes;
  /** What a thread of it searches for; absent: anything. */
  finds?: Finds;
  /** What it held when another thread opened it; absent: what the file says. */
  held?: Held;
}

/** What vectors a collection holds. */
export interface Held {
  dimension: number;
  /** The model that fills it. */
  identity: string | undefined;
}

interface Opened extends Held {
  database: Database;
  isReadOnly: boolean;
  /** As it was last seen; undefined in memory. */
  stamp: FileStamp;
  /** The number of a change that it had by then. */
  change: number;
  search: CollectionSearch;
  indexing: Indexing | undefined;
}

export class WatchedCollection implements Disposable {
  readonly #place: CollectionPlace;
  #opened: Opened | undefined;
  /** As it was first opened. */
  #held: Held | undefined;
  #idle: Timer | undefined;

  constructor(place: CollectionPlace) {
    this.#place = place;
    this.#held = place.held;
  }

  /** Creates the collection if a spec is given. */
  open(spec?: CollectionSpec, onRebuild?: () => void): Opened {
    const { name, path, folder, segmentSizes: sizes, finds } = this.#place;
    const mayBeBlank = this.#held !== undefined;
    const options = given({ onRebuild, mayBeBlank });
    const { database, isReadOnly } = openDatabase(name, path, spec, options);
    this.#held ??= {
      dimension: dimensionIn(database) ?? 0,
      identity: readMeta(database, "embedding"),
    };
    const { dimension } = this.#held;
    const isIndexed = folder !== undefined && !isReadOnly && hasSegments(database);
    this.#opened = {
      ...{ database, ...this.#held },
      ...{ isReadOnly, stamp: stampOf(path), change: changeOf(database) },
      search: new CollectionSearch(database, { dimension, folder, finds }),
      indexing: isIndexed
        ? new Indexing({ database, collection: name, folder, dimension, ...given({ sizes }) })
        : undefined,
    };
    return this.#opened;
  }

  /** As it was opened. */
  get opened(): Opened {
    if (this.#opened?.isReadOnly && this.#isOutdated(this.#opened)) this[Symbol.dispose]();
    return this.#opened ?? this.open();
  }

  /** Another process may have dropped the collection, and created it again for another model; or the file was moved away. */
  get checked(): Opened {
    const opened = this.opened;
    let now = opened.identity;
    try {
      now = readMeta(opened.database, "embedding");
    } catch (error) {
      if (!this.#isOther(opened)) throw error;
    }
    if (now === undefined) return opened;
    if (opened.stamp !== undefined && this.#isOther(opened)) throw this.#isGone();
    if (now === opened.identity) return opened;
    throw this.#isOfAnother();
  }

  /** To be called in the transaction that stores passages. One that was dropped while it was open says again what it holds: what is stored from then on would not be found after a restart. */
  describeAgain({ database, dimension, identity, stamp }: Opened): void {
    const now = readMeta(database, "embedding");
    if (now !== undefined && now !== identity) throw this.#isOfAnother();
    if (now !== undefined || identity === undefined) return;
    // What is stored in a file that was removed is lost.
    if (stampOf(this.#place.path)?.identity !== stamp?.identity) throw this.#isGone();
    describe(database, dimension, identity);
  }

  /** To be called after each change. Empties the log later, so that a copy of the file alone is complete, and a backup in its place meets no former log. */
  changed(): void {
    clearTimeout(this.#idle);
    if (this.#opened !== undefined) this.#opened.change = changeOf(this.#opened.database);
    this.#idle = setTimeout(() => this.#emptyLog(), idleMs).unref();
  }

  [Symbol.dispose](): void {
    // Closing empties it only where SQLite finds no other connection, and who may only read the disk reads no log.
    if (this.#idle !== undefined) this.#emptyLog();
    // A backup that was copied over the file must not get the former one's log.
    const opened = this.#opened;
    const { path } = this.#place;
    const identity = opened?.isReadOnly ? undefined : opened?.stamp?.identity;
    if (identity !== undefined && stampOf(path)?.identity === identity) setForeignLogAside(path);
    this.#opened = undefined;
    opened?.database.close();
  }

  #emptyLog(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    try {
      emptyLogIfFree(this.checked.database);
    } catch {
      // The disk is full or away; the next change tries again.
    }
  }

  #isGone(): NodeError {
    const { name, path } = this.#place;
    const why = `The collection '${name}' cannot be used: its file is gone from the disk, or another, since it was opened. Put it back, or start the node again. It was ${path}.`;
    return new NodeError("unavailable", why);
  }

  #isOfAnother(): NodeError {
    const why = `The collection '${this.#place.name}' was dropped and created again for another model since it was opened. Start the node again.`;
    return new NodeError("collection_mismatch", why);
  }

  /** What only reads a file does not see what another process, which has it for writing, changes in it. */
  #isOutdated({ stamp: before }: Opened): boolean {
    const { path } = this.#place;
    if (isWritable(dirname(path))) return true;
    const now = stampOf(path);
    return now?.identity === before?.identity && now?.state !== before?.state;
  }

  #isOther(opened: Opened): boolean {
    const { path } = this.#place;
    const stamp = stampOf(path);
    if (stamp?.identity !== opened.stamp?.identity) return true;
    const isChanged = stamp?.state !== opened.stamp?.state;
    if (isChanged && isOverwritten(path, opened.change, () => lastChangeIn(opened))) return true;
    Object.assign(opened, { stamp, change: lastChangeIn(opened) });
    return false;
  }
}

/** As SQLite sees it, which cannot read a file of another size than it expects. */
function lastChangeIn({ database, change }: Opened): number {
  try {
    return changeOf(database);
  } catch {
    return change;
  }
}
