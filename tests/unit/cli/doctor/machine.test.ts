import { describe, expect, test } from "bun:test";
import { checkEngine } from "../../../../src/cli/doctor/machine.ts";
import { loadConfig } from "../../../../src/config/load.ts";

const examine = (script: string, env = {}) =>
  checkEngine({
    config: loadConfig({ env, flags: {} }),
    baseDir: "/",
    dataDir: "/nowhere",
    program: { command: ["sh", "-c", script], env: {} },
    secretOf: () => undefined,
  });

const answer = (fields: object) => `echo '${JSON.stringify(fields)}'`;

describe("the engine's check", () => {
  test("reports a crash of native code, and does not suffer it", async () => {
    expect(await examine("echo 'ggml: no such backend' >&2; kill -SEGV $$")).toEqual({
      status: "problem",
      message: "llama.cpp does not load: its process ended with SIGSEGV. ggml: no such backend",
      remedy: expect.stringContaining("bun install"),
    });
  });

  test("reports a failure with its last words", async () => {
    const { status, message } = await examine("echo 'no library for this platform' >&2; exit 1");
    expect([status, message]).toEqual([
      "problem",
      "llama.cpp does not load: its process ended with exit code 1. no library for this platform",
    ]);
  });

  test("says when more threads are configured than there are cores", async () => {
    const said = answer({
      version: "llama.cpp (cpu)",
      threads: 2,
      why: "9 configured, but 2 cores",
    });
    expect(await examine(said, { PADDOCK_THREADS: "9" })).toEqual({
      status: "note",
      message: "llama.cpp (cpu) loads, with 2 threads (9 configured, but 2 cores).",
      remedy: "Set [engine] threads = 2, or 0 for as many as there are.",
    });
  });
});
