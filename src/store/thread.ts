/** The worker thread of an object: answers calls of its methods, and disposes of it at the end. */
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { setProgramFolders } from "../packaging/native-libraries.ts";
import { tellOfLogs } from "./foreign-log.ts";
import {
  callMethod,
  create,
  type MethodCall,
  type ThreadReply,
  type ThreadStart,
} from "./thread-calls.ts";

/** The thread's own side: Bun has no type for it. */
declare const self: Worker;

type Message = ThreadStart | (MethodCall & { id: number }) | "close";

tellOfLogs((notice) => self.postMessage({ notice }));
let start: ThreadStart | undefined;
let created: Promise<Disposable> | undefined;

self.onmessage = async ({ data }: MessageEvent<Message>) => {
  if (data === "close") {
    (await created?.catch(() => undefined))?.[Symbol.dispose]();
    // Without a listener the thread has nothing to wait for, and ends.
    self.onmessage = null;
  } else if ("target" in data) {
    if (data.folders !== undefined) setProgramFolders(data.folders);
    start = data;
  } else if (start !== undefined) {
    self.postMessage(await answer(start, data));
  }
};

async function answer(
  from: ThreadStart,
  { id, ...call }: MethodCall & { id: number },
): Promise<ThreadReply> {
  try {
    return { id, result: await callMethod(await target(from), call) };
  } catch (error) {
    const reason = reasonOf(error);
    if (!(error instanceof NodeError)) return { id, error: reason };
    const { kind, param, retryAfterMs } = error;
    return { id, error: reason, kind, ...given({ param, retryAfterMs }) };
  }
}

/** Created for the first call, and for the next one if that failed. */
function target({ target: name, args }: ThreadStart): Promise<Disposable> {
  created ??= create(name, args).catch((error: unknown) => {
    created = undefined;
    throw error;
  });
  return created;
}
