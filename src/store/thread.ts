/** The worker thread of an object: answers calls of its methods, and disposes of it at the end. */
import { parentPort, workerData } from "node:worker_threads";
import { NodeError, reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { tellOfLogs } from "./foreign-log.ts";
import { callMethod, create, type MethodCall, type ThreadReply } from "./thread-calls.ts";

tellOfLogs((notice) => parentPort?.postMessage({ notice }));
const target = await create(workerData.target, workerData.args);

parentPort?.on("message", (call: "close" | (MethodCall & { id: number })) => {
  if (call !== "close") {
    void answer(call).then((reply) => parentPort?.postMessage(reply));
    return;
  }
  target[Symbol.dispose]();
  // With the port closed, the thread has nothing to wait for, and ends.
  parentPort?.close();
});

async function answer({ id, ...call }: MethodCall & { id: number }): Promise<ThreadReply> {
  try {
    return { id, result: await callMethod(target, call) };
  } catch (error) {
    const reason = reasonOf(error);
    if (!(error instanceof NodeError)) return { id, error: reason };
    const { kind, param, retryAfterMs } = error;
    return { id, error: reason, kind, ...given({ param, retryAfterMs }) };
  }
}
