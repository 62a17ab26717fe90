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
let created: Promise<Disposable> | undefined;

self.onmessage = async ({ data }: MessageEvent<Message>) => {
  if (data === "close") {
    (await created)?.[Symbol.dispose]();
    // Without a listener the thread has nothing to wait for, and ends.
    self.onmessage = null;
  } else if ("target" in data) {
    if (data.folders !== undefined) setProgramFolders(data.folders);
    created = create(data.target, data.args);
  } else if (created !== undefined) {
    self.postMessage(await answer(await created, data));
  }
};

async function answer(
  target: Disposable,
  { id, ...call }: MethodCall & { id: number },
): Promise<ThreadReply> {
  try {
    return { id, result: await callMethod(target, call) };
  } catch (error) {
    const reason = reasonOf(error);
    if (!(error instanceof NodeError)) return { id, error: reason };
    const { kind, param, retryAfterMs } = error;
    return { id, error: reason, kind, ...given({ param, retryAfterMs }) };
  }
}
