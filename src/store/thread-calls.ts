/** Calls to a worker thread, which answers them in order. */
import { parentPort, Worker } from "node:worker_threads";
import { type ErrorKind, NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";

interface ThreadCall<Call> {
  id: number;
  call: Call;
}

/** `kind`: of a NodeError, which is recreated on the other side. */
type ThreadReply =
  | { id: number; result: unknown }
  | { id: number; error: string; kind?: ErrorKind; param?: string };

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export interface ThreadOptions<Call> {
  module: URL;
  /** The thread's `workerData`. */
  data: unknown;
  /** The thread's name in messages: "the index". */
  called: string;
  /** The call that ends the thread. */
  close: Call;
}

export class ThreadCalls<Call> {
  readonly #worker: Worker;
  readonly #close: Call;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #calls = 0;
  /** Why the thread has ended. */
  #end: Error | undefined;

  constructor({ module, data, called, close }: ThreadOptions<Call>) {
    this.#close = close;
    this.#worker = new Worker(module, { workerData: data });
    // An idle thread does not keep the process alive.
    this.#worker.unref();
    this.#worker.on("message", (reply: ThreadReply) => this.#take(reply));
    this.#worker.on("error", (error: Error) => this.#fail(error));
    this.#ended = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        this.#fail(new Error(`the thread of ${called} has ended`));
        resolve();
      });
    });
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** `Result`: the thread's answer to this call. */
  call<Result>(call: Call): Promise<Result> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = ++this.#calls;
    return new Promise<Result>((resolve, reject) => {
      if (this.#waiting.size === 0) this.#worker.ref();
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call } satisfies ThreadCall<Call>);
    });
  }

  /** Ends the thread after all earlier calls. */
  async close(): Promise<void> {
    if (this.#end === undefined) await this.call(this.#close).catch(() => {});
    // The process must not exit before the thread has ended.
    this.#worker.ref();
    await this.#ended;
  }

  #take(reply: ThreadReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("result" in reply) waiting?.resolve(reply.result);
    else waiting?.reject(errorIn(reply));
  }

  #fail(error: Error): void {
    this.#end ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    this.#worker.unref();
  }
}

const errorIn = ({ error, kind, param }: Extract<ThreadReply, { error: string }>): Error =>
  kind === undefined ? new Error(error) : new NodeError(kind, error, given({ param }));

/** In the thread: answers every call, and ends with the last one. */
export function answerCalls<Call>(
  perform: (call: Call) => unknown,
  isLast: (call: Call) => boolean,
): void {
  const answer = ({ id, call }: ThreadCall<Call>): ThreadReply => {
    try {
      return { id, result: perform(call) };
    } catch (error) {
      const known = error instanceof NodeError ? { kind: error.kind, param: error.param } : {};
      return { id, error: reasonOf(error), ...given(known) };
    }
  };
  parentPort?.on("message", (call: ThreadCall<Call>) => {
    parentPort?.postMessage(answer(call));
    // With the port closed, the thread has nothing to wait for, and ends.
    if (isLast(call.call)) parentPort?.close();
  });
}

/** A method call on an object in a thread, or on a `part` of it. */
export interface MethodCall {
  part?: string;
  method: string;
  args: readonly unknown[];
}

/** In the thread: calls the object's methods by name, and disposes of it at the end. */
export const answerMethodCalls = (target: Disposable): void =>
  answerCalls<MethodCall | "close">(
    (call) => (call === "close" ? target[Symbol.dispose]() : callMethod(target, call)),
    (call) => call === "close",
  );

/** Returns the method's result. */
export function callMethod(target: object, { part, method, args }: MethodCall) {
  const owner: object = part === undefined ? target : Reflect.get(target, part);
  return Reflect.apply(Reflect.get(owner, method), owner, args);
}

/** Calls methods of an object in a thread, which starts with the first call and restarts if it has died. */
export class MethodThread implements AsyncDisposable {
  readonly #options: Omit<ThreadOptions<MethodCall | "close">, "close">;
  #thread: ThreadCalls<MethodCall | "close"> | undefined;

  constructor(options: Omit<ThreadOptions<MethodCall | "close">, "close">) {
    this.#options = options;
  }

  get hasStarted(): boolean {
    return this.#thread !== undefined;
  }

  /** Rejects with the method's own NodeError, or with an Error if the thread has ended. */
  call<Result>(call: MethodCall): Promise<Result> {
    if (this.#thread === undefined || this.#thread.hasEnded) {
      this.#thread = new ThreadCalls({ ...this.#options, close: "close" });
    }
    return this.#thread.call(call);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#thread;
    this.#thread = undefined;
    await running?.close();
  }
}
