/** `paddock runner`: one model in a process of its own, as a node starts it; not for people. */
import type { FromRunner, ToRunner } from "../runner/protocol.ts";
import { serveCalls } from "../runner/serve-calls.ts";

/** How a runner speaks with the node that started it, and ends with. */
export interface NodeLink {
  send(message: FromRunner): void;
  listen(hear: (message: ToRunner) => void): void;
  /** Resident bytes of this process. */
  residentMemory(): number;
}

export function runRunner({ send, listen, residentMemory }: NodeLink): void {
  const serve = serveCalls(send);
  listen((message) => {
    if (message.type === "heartbeat") send({ type: "heartbeat", bytes: residentMemory() });
    else serve(message);
  });
  send({ type: "listening" });
}
