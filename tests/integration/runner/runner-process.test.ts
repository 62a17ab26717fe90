import { expect, test } from "bun:test";
import { join } from "node:path";
import { startRunner } from "../../../src/runner/runner-process.ts";
import { engineEnvironment } from "../../../src/subprocess/program.ts";
import { silentLog, silentProgress } from "../../support/silence.ts";
import { tinySpec } from "../../support/tiny-engines.ts";
import { waitFor } from "../../support/wait-for.ts";

/** A load that makes no progress for four times as long is given up. */
const heartbeatTimeoutMs = 1500;
/** Ten come in the time that it may be silent. */
const heartbeats = 50;

test("a model that was loaded with an accelerator may be idle for as long as it likes", async () => {
  const script = join(import.meta.dir, "../../support/idle-runner.ts");
  const runner = await startRunner(
    {
      program: { command: [process.execPath, script], env: engineEnvironment(process.env) },
      name: "idle",
      engine: { threads: 1, backend: "vulkan", rejected: [] },
      spec: tinySpec({ name: "idle", type: "chat", path: "idle.gguf" }),
      heartbeatTimeoutMs,
      stepTimeoutMs: 0,
      log: silentLog,
    },
    { progress: silentProgress, signal: new AbortController().signal, onItems: () => {} },
  );
  let how: string | undefined;
  void runner.ended.then((ending) => {
    how = ending.how;
  });
  await waitFor(
    "the heartbeats of five timeouts",
    () => how !== undefined || (runner.residentBytes() ?? 0) >= heartbeats,
  );
  expect(how).toBeUndefined();
  await runner.end();
});
