/** A usearch index in a thread of its own: calls are done there in the order in which they are made. */
import { ThreadCalls } from "../thread-calls.ts";
import type { IndexCall, IndexOptions, IndexState } from "./index-thread.ts";

/** In the executable all modules are one file, and this path begins at the folder of main.ts. */
const thread = import.meta.url.endsWith("/threaded-index.ts")
  ? "./index-thread.ts"
  : "./store/sqlite/index-thread.ts";

export class ThreadedIndex {
  readonly #calls: ThreadCalls<IndexCall, IndexState>;

  constructor(options: IndexOptions) {
    this.#calls = new ThreadCalls({
      module: new URL(thread, import.meta.url),
      data: options,
      called: "the index",
      close: { type: "close" },
    });
  }

  add(keys: BigUint64Array, vectors: Float32Array): Promise<IndexState> {
    return this.#calls.call({ type: "add", keys, vectors });
  }

  /** A key that is not there is no fault. */
  remove(keys: BigUint64Array): Promise<IndexState> {
    return this.#calls.call({ type: "remove", keys });
  }

  /** Keys of about the nearest vectors. */
  search(vector: Float32Array, count: number): Promise<IndexState> {
    // Of a part of a larger buffer all of that would be sent.
    return this.#calls.call({ type: "search", vector: vector.slice(), count });
  }

  save(path: string): Promise<IndexState> {
    return this.#calls.call({ type: "save", path });
  }

  /** Takes what was saved, whose last key was this one; the index must be new. */
  load(path: string, lastKey: number): Promise<IndexState> {
    return this.#calls.call({ type: "load", path, lastKey });
  }

  /** Ends the thread once the calls before are done. */
  async close(): Promise<void> {
    await this.#calls.close();
  }
}
