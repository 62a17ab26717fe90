import { describe, expect, test } from "bun:test";
import { exitOf, lastLine, tailOf } from "../../../src/subprocess/last-output.ts";

const streamOf = (...chunks: string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

describe("the last output of a process", () => {
  test("is the end of the stream, however long it was", async () => {
    const tail = await tailOf(streamOf("x".repeat(10_000), "\nfirst\n", "second\n"));
    expect([tail.length, tail.slice(-14)]).toEqual([3999, "x\nfirst\nsecond"]);
  });

  test("is nothing where it wrote nothing", async () => {
    expect(await tailOf(streamOf())).toBe("");
  });

  test("ends in its last line, whatever white space follows", () => {
    expect([lastLine("a\nb\n\n"), lastLine("a"), lastLine("")]).toEqual(["b", "a", ""]);
  });

  test("ends in its reason, where the stack of a crash follows", () => {
    const crash = [
      "CUDA error: the provided PTX was compiled with an unsupported toolchain",
      "/opt/libggml-base.so(ggml_abort+0x15a)[0x7f2f1c0d2a3a]",
      "/usr/local/bin/bun[0x3bac17c]",
    ];
    expect(lastLine(crash.join("\n"))).toBe(crash[0] ?? "");
    expect(lastLine("a[0x1]\nb[0x2]")).toBe("b[0x2]");
  });
});

describe("the exit of a process", () => {
  test("is its signal, else its code", async () => {
    const killed = Bun.spawn(["sleep", "60"]);
    killed.kill("SIGKILL");
    const failed = Bun.spawn(["sh", "-c", "exit 3"]);
    await Promise.all([killed.exited, failed.exited]);
    expect([exitOf(killed), exitOf(failed)]).toEqual(["SIGKILL", "exit code 3"]);
  });
});
