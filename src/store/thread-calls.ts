/** Calls to a thread, and how the thread answers them: in the order in which they are made. */
import { parentPort, Worker } from "node:worker_threads";
import { reasonOf } from "../core/errors.ts";

/** A call on its way to the thread. */
interface ThreadCall<Call> {
  id: number;
  call: Call;
}

type ThreadReply<Result> = { id: number } & ({ result: Result } | { error: string });

interface Waiting<Result> {
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

export interface ThreadOptions<Call> {
  module: URL;
  /** What the thread is given at its start. */
  data: unknown;
  /** As a message calls it: "the index". */
  called: string;
  /** The call that ends the thread. */
  close: Call;
}

export class ThreadCalls<Call, Result> {
  readonly #worker: Worker;
  readonly #close: Call;
  readonly #waiting = new Map<number, Waiting<Result>>();
  readonly #ended: Promise<void>;
  #calls = 0;
  /** Why the thread does nothing any more. */
  #end: Error | undefined;

  constructor({ module, data, called, close }: ThreadOptions<Call>) {
    this.#close = close;
    this.#worker = new Worker(module, { workerData: data });
    // A thread that has nothing to do keeps no process from ending.
    this.#worker.unref();
    this.#worker.on("message", (reply: ThreadReply<Result>) => this.#take(reply));
    this.#worker.on("error", (error: Error) => this.#fail(error));
    this.#ended = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        this.#fail(new Error(`the thread of ${called} has ended`));
        resolve();
      });
    });
  }

  /** Whether the thread does nothing any more. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  call(call: Call): Promise<Result> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call } satisfies ThreadCall<Call>);
    });
  }

  /** Ends the thread once the calls before are done. */
  async close(): Promise<void> {
    if (this.#end === undefined) await this.call(this.#close).catch(() => {});
    // Who waits for the end is not to be ended before it.
    this.#worker.ref();
    await this.#ended;
  }

  #take(reply: ThreadReply<Result>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.result);
  }

  #fail(error: Error): void {
    this.#end ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    this.#worker.unref();
  }
}

/** In the thread: answers every call, and ends with the last one. */
export function answerCalls<Call, Result>(
  perform: (call: Call) => Result,
  isLast: (call: Call) => boolean,
): void {
  const answer = ({ id, call }: ThreadCall<Call>): ThreadReply<Result> => {
    try {
      return { id, result: perform(call) };
    } catch (error) {
      return { id, error: reasonOf(error) };
    }
  };
  parentPort?.on("message", (call: ThreadCall<Call>) => {
    parentPort?.postMessage(answer(call));
    // With the port closed the thread has nothing to wait for, and ends.
    if (isLast(call.call)) parentPort?.close();
  });
}
