/** A usearch index in a thread of its own: calls are done there in the order in which they are made. */
import { Worker } from "node:worker_threads";
import type { IndexCall, IndexOptions, IndexReply, IndexState } from "./index-thread.ts";

interface Waiting {
  resolve: (state: IndexState) => void;
  reject: (error: Error) => void;
}

/** In the executable all modules are one file, and this path begins at the folder of main.ts. */
const thread = import.meta.url.endsWith("/threaded-index.ts")
  ? "./index-thread.ts"
  : "./store/sqlite/index-thread.ts";

export class ThreadedIndex {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #calls = 0;
  /** Why the thread does nothing any more. */
  #end: Error | undefined;

  constructor(options: IndexOptions) {
    this.#worker = new Worker(new URL(thread, import.meta.url), { workerData: options });
    // A thread that has nothing to do keeps no process from ending.
    this.#worker.unref();
    this.#worker.on("message", (reply: IndexReply) => this.#take(reply));
    this.#worker.on("error", (error: Error) => this.#fail(error));
    this.#ended = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        this.#fail(new Error("the thread of the index has ended"));
        resolve();
      });
    });
  }

  add(keys: BigUint64Array, vectors: Float32Array): Promise<IndexState> {
    return this.#call({ type: "add", keys, vectors });
  }

  /** A key that is not there is no fault. */
  remove(keys: BigUint64Array): Promise<IndexState> {
    return this.#call({ type: "remove", keys });
  }

  /** Keys of about the nearest vectors. */
  search(vector: Float32Array, count: number): Promise<IndexState> {
    // Of a part of a larger buffer all of that would be sent.
    return this.#call({ type: "search", vector: vector.slice(), count });
  }

  save(path: string): Promise<IndexState> {
    return this.#call({ type: "save", path });
  }

  /** Takes what was saved, whose last key was this one; the index must be new. */
  load(path: string, lastKey: number): Promise<IndexState> {
    return this.#call({ type: "load", path, lastKey });
  }

  /** Ends the thread once the calls before are done. */
  async close(): Promise<void> {
    if (this.#end === undefined) await this.#call({ type: "close" }).catch(() => {});
    // Who waits for the end is not to be ended before it.
    this.#worker.ref();
    await this.#ended;
  }

  #call(call: IndexCall): Promise<IndexState> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call });
    });
  }

  #take(reply: IndexReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply);
  }

  #fail(error: Error): void {
    this.#end ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    this.#worker.unref();
  }
}
