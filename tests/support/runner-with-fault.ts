/**
 * A runner whose accelerator fails as GGML_TEST_FAULT says, and whose CPU is the real engine: what
 * a driver and a library that do not suit each other do to a process. With `slow` every step of a
 * chat takes long, and one that finds the file GGML_TEST_STUCK never ends.
 */
import { existsSync, rmSync } from "node:fs";
import "./library-trial.ts";
import type { ToRunner } from "../../src/runner/protocol.ts";
import type { Send } from "../../src/runner/serve-calls.ts";

type Fault = "abort" | "abort at once" | "hang" | "nan" | "no library" | "no memory" | "no file";

const send: Send = (message) => void process.send?.(message);
const fault = process.env.GGML_TEST_FAULT ?? "";

const faults: Record<Fault, () => void> = {
  abort() {
    send({ type: "stage", stage: "trial" });
    process.stderr.write(
      "CUDA error: the provided PTX was compiled with an unsupported toolchain\n",
    );
    process.kill(process.pid, "SIGABRT");
  },
  "abort at once": () => process.kill(process.pid, "SIGABRT"),
  // Its loop goes on to turn, as when a thread of the driver's waits for ever.
  hang: () => send({ type: "stage", stage: "trial" }),
  nan() {
    send({ type: "stage", stage: "trial" });
    const message = "The model 'talker' cannot be loaded: what it computes is not a number";
    send({ type: "not-loaded", error: { kind: "unavailable", message } });
  },
  "no library": () => send({ type: "not-loaded", error: { message: "NoBinaryFoundError" } }),
  "no file"() {
    send({ type: "stage", stage: "file" });
    send({ type: "not-loaded", error: { message: "the model's file is not there" } });
  },
  "no memory"() {
    send({ type: "stage", stage: "model" });
    send({ type: "not-loaded", error: { message: "cannot allocate 80 GB" } });
  },
};

const { GGML_TEST_STUCK: stuckFile = "" } = process.env;
/** Of each token. */
const slowMs = fault === "slow" ? 10 : 0;

/** The real engine, which what fails before it is there does not wait for. */
async function realEngine(): Promise<(message: ToRunner) => void> {
  const { NativeChatContext } = await import("../../src/engine/native/contexts.ts");
  const { serveCalls } = await import("../../src/runner/serve-calls.ts");
  const { decode } = NativeChatContext.prototype;
  NativeChatContext.prototype.decode = async function (parts, steady) {
    if (stuckFile !== "" && existsSync(stuckFile)) {
      rmSync(stuckFile);
      // The loop goes on to turn, as when native threads are stopped.
      await new Promise(() => {});
    }
    const tokens = parts.reduce((sum, part) => sum + part.tokens.length, 0);
    if (slowMs > 0) await new Promise((done) => setTimeout(done, tokens * slowMs));
    return await decode.call(this, parts, steady);
  };
  return serveCalls(send, () => ({ bytes: process.memoryUsage.rss(), pageFaults: 0 }));
}

const isFault = (name: string): name is Fault => name in faults;

process.on("disconnect", () => process.exit(0));
let engine: ReturnType<typeof realEngine> | undefined;
process.on("message", async (message: ToRunner) => {
  const isTried = message.type === "load" && message.engine.backend !== "cpu";
  if (isTried && isFault(fault)) return faults[fault]();
  engine ??= realEngine();
  (await engine)(message);
});
send({ type: "listening" });
