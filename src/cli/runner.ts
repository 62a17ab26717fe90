/** `paddock runner`: one model in a process of its own, as a node starts it; not for people. */
import type { FromRunner, ToRunner } from "../runner/protocol.ts";
import { serveCalls } from "../runner/serve-calls.ts";

/** The channel between a runner and the node that started it; the runner ends when it closes. */
export interface RunnerChannel {
  send(message: FromRunner): void;
  listen(hear: (message: ToRunner) => void): void;
  /** Resident bytes of this process. */
  residentMemory(): number;
}

export function runRunner({ send, listen, residentMemory }: RunnerChannel): void {
  const serve = serveCalls(send);
  listen((message) => {
    if (message.type === "heartbeat") send({ type: "heartbeat", bytes: residentMemory() });
    else serve(message);
  });
  send({ type: "listening" });
}
