/** Calls methods of an object in a worker thread, begun in order, so that they do not block the event loop. */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { asNodeError, type ErrorKind, NodeError } from "../core/errors.ts";
import { type Log, noLog } from "../core/log.ts";
import { type ProgramFolders, programFolders } from "../packaging/native-libraries.ts";
import { isThere } from "./database.ts";
import { logWasSetAside } from "./foreign-log.ts";
import type { QdrantOptions } from "./qdrant/connection.ts";
import type { FormerOwners } from "./responses/response-tables.ts";
import type { CollectionPlace } from "./sqlite/watched-collection.ts";

/** What a thread can hold; loaded only where it is created. */
const targets = {
  documents: async (path: string) =>
    (await import("./documents/sqlite-documents.ts")).documentRows(path),
  responses: async (path: string, formerOwners: FormerOwners) =>
    new (await import("./responses/response-rows.ts")).ResponseRows(path, formerOwners),
  collection: async (place: CollectionPlace) =>
    new (await import("./sqlite/collection-rows.ts")).CollectionRows(place),
  collections: async (folder: string) =>
    new (await import("./sqlite/collection-folder.ts")).CollectionFolder(folder),
  qdrant: async (options: QdrantOptions) =>
    new (await import("./qdrant/qdrant-server.ts")).QdrantServer(options),
};

type TargetName = keyof typeof targets;
type Target<Name extends TargetName> = Awaited<ReturnType<(typeof targets)[Name]>>;

/** The target's methods, each answered with a promise. */
export type Remote<Methods> = AsyncDisposable & {
  [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

export interface MethodCall {
  method: string;
  args: readonly unknown[];
}

export interface ThreadOptions<Name extends TargetName> {
  target: Name;
  args: Parameters<(typeof targets)[Name]>;
  called: string;
  /** Until this file exists, only `writing` methods need the thread; default: all do. */
  file?: { path: string; writing?: ReadonlySet<string> };
  /** Whether the object knows nothing that a new one would not, and so is created again if its thread has died; default: where it has a file. */
  isStateless?: boolean;
  /** Logs faults that nobody foresaw; default: the caller does. */
  log?: Log;
}

/** `kind`: of a NodeError, which is recreated on the other side. */
export type ThreadReply = { id: number } & (
  | { result: unknown }
  | { error: string; kind?: ErrorKind; param?: string; retryAfterMs?: number }
);

/** The first message to a thread, which has its own copy of every module. */
export interface ThreadStart {
  target: TargetName;
  args: readonly unknown[];
  folders: ProgramFolders | undefined;
}

interface Running {
  worker: Worker;
  waiting: Map<number, Omit<PromiseWithResolvers<unknown>, "promise">>;
  ended: Promise<void>;
}

/** In the executable, all modules are one file, and the path is relative to main.ts. */
const module = import.meta.url.endsWith("/thread-calls.ts") ? "./thread.ts" : "./store/thread.ts";

/** The methods of an object in a thread, which ends, after all earlier calls, when they are disposed of. */
export function inThread<Name extends TargetName>(
  options: ThreadOptions<Name>,
): Remote<Target<Name>> {
  const thread = new ObjectThread(options);
  return new Proxy(Object.create(null), {
    get: (_, method) => {
      if (method === Symbol.asyncDispose) return () => thread.end();
      // Read when it is awaited or printed: it is not a promise.
      if (typeof method === "symbol" || method === "then") return undefined;
      return (...args: unknown[]) => thread.call({ method, args });
    },
  });
}

/** The same for an object that stays in this thread. */
export function inThisThread<Methods extends Disposable>(target: Methods): Remote<Methods> {
  let isClosed = false;
  return new Proxy(Object.create(null), {
    get: (_, method) => {
      if (method === Symbol.asyncDispose) {
        return async () => {
          isClosed = true;
          target[Symbol.dispose]();
        };
      }
      if (typeof method === "symbol" || method === "then") return undefined;
      return async (...args: unknown[]) => {
        if (isClosed) throw new Error("it is closed");
        return callMethod(target, { method, args });
      };
    },
  });
}

/** The thread starts with the first call, and again if it has died and its object can be created again. */
class ObjectThread<Name extends TargetName> {
  readonly #options: ThreadOptions<Name>;
  #running: Running | undefined;
  #calls = 0;
  #isClosed = false;

  constructor(options: ThreadOptions<Name>) {
    this.#options = options;
  }

  async end(): Promise<void> {
    this.#isClosed = true;
    const running = this.#running;
    running?.worker.postMessage("close");
    // The process must not exit before the thread has ended.
    running?.worker.ref();
    await running?.ended;
  }

  /** Rejects with the method's own NodeError, or with an `unavailable` one. */
  async call(call: MethodCall): Promise<unknown> {
    const { target, args, called, file, log = noLog } = this.#options;
    try {
      const isIdle = this.#running === undefined && file?.writing?.has(call.method) === false;
      if (isIdle && !isThere(file.path)) {
        using object = await create(target, args);
        return callMethod(object, call);
      }
      return await this.#send(call);
    } catch (cause) {
      if (!(cause instanceof NodeError))
        log.error("a store failed", { store: called, error: cause });
      throw asNodeError(cause, `${called} cannot be used`);
    }
  }

  #send(call: MethodCall): Promise<unknown> {
    if (this.#isClosed) throw new Error("its thread has ended");
    this.#running ??= this.#start();
    const { worker, waiting } = this.#running;
    if (waiting.size === 0) worker.ref();
    const { promise, ...settle } = Promise.withResolvers<unknown>();
    const id = ++this.#calls;
    waiting.set(id, settle);
    worker.postMessage({ id, ...call });
    return promise;
  }

  #start(): Running {
    const { target, args } = this.#options;
    checkDescriptors();
    // Not the Worker of node:worker_threads, whose start takes ten times the processor's time.
    const worker = new Worker(new URL(module, import.meta.url));
    worker.postMessage({ target, args, folders: programFolders() } satisfies ThreadStart);
    const waiting: Running["waiting"] = new Map();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const fail = (error: Error): void => {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    };
    // An idle thread does not keep the process alive.
    worker.unref();
    worker.onmessage = ({ data: reply }: MessageEvent<ThreadReply | { notice: string }>) => {
      if ("notice" in reply) {
        logWasSetAside(reply.notice);
        return;
      }
      const settle = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (waiting.size === 0) worker.unref();
      if ("result" in reply) settle?.resolve(reply.result);
      else settle?.reject(errorIn(reply));
    };
    // The message shows the source around the fault: it is for the log, and not for a caller.
    worker.onerror = ({ message }) =>
      fail(new Error("its thread has failed", { cause: new Error(message) }));
    worker.addEventListener("close", () => {
      this.#running = undefined;
      // What another object knew is lost: a new one would answer as if it were all.
      const { file, isStateless = file !== undefined } = this.#options;
      this.#isClosed ||= !isStateless;
      fail(new Error("its thread has ended"));
      end();
    });
    return { worker, waiting, ended };
  }
}

/** Far more than a thread needs to start: others may take some at the same moment. */
const sparedFiles = 64;

/** Throws if the process may open hardly any more files: a thread without one would end the process. */
function checkDescriptors(): void {
  const opened: number[] = [];
  try {
    while (opened.length < sparedFiles) opened.push(openSync(devNull, "r"));
  } finally {
    opened.forEach(closeSync);
  }
}

function errorIn({ error, kind, ...details }: Extract<ThreadReply, { error: string }>): Error {
  return kind === undefined ? new Error(error) : new NodeError(kind, error, details);
}

export const create = (name: TargetName, args: readonly unknown[]): Promise<Disposable> =>
  Reflect.apply(targets[name], undefined, args);

export const callMethod = (target: object, { method, args }: MethodCall): unknown =>
  Reflect.apply(Reflect.get(target, method), target, args);
