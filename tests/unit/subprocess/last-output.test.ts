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
