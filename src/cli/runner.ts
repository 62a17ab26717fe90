/** `paddock runner`: one model in a process of its own, as a node starts it; not for people. */
import type { FromRunner, ToRunner, Vitals } from "../runner/protocol.ts";
import { serveCalls } from "../runner/serve-calls.ts";

/** The channel between a runner and the node that started it; the runner ends when it closes. */
export interface RunnerChannel {
  send(message: FromRunner): void;
  listen(hear: (message: ToRunner) => void): void;
  /** How this process is. */
  vitals(): Omit<Vitals, "steps">;
}

export function runRunner({ send, listen, vitals }: RunnerChannel): void {
  listen(serveCalls(send, vitals));
  send({ type: "listening" });
}
