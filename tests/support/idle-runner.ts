/** Plays a runner that loads at once, says something, and then has nothing to do; it counts the heartbeats that it answers. */
import type { ToRunner } from "../../src/runner/protocol.ts";

let heartbeats = 0;

process.on("message", ({ type }: ToRunner) => {
  if (type === "heartbeat") process.send?.({ type, bytes: ++heartbeats, pageFaults: 0 });
  if (type !== "load") return;
  process.send?.({ type: "loaded", version: "played", facts: {} });
  process.send?.({ type: "log", level: "info", message: "it is loaded", fields: {} });
});
process.send?.({ type: "listening" });
