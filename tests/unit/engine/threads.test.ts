import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseCpuMax, threadBudget } from "../../../src/engine/threads.ts";

describe("the cores that a control group grants", () => {
  test.each([
    ["200000 100000\n", 2],
    ["50000 100000", 0.5],
    ["150000 50000", 3],
    ["max 100000\n", Number.POSITIVE_INFINITY],
    ["max", Number.POSITIVE_INFINITY],
    ["", Number.POSITIVE_INFINITY],
    ["0 100000", Number.POSITIVE_INFINITY],
    ["100000 0", Number.POSITIVE_INFINITY],
    ["nonsense here", Number.POSITIVE_INFINITY],
  ])("are read from %j", (text, cores) => {
    expect(parseCpuMax(text)).toBe(cores);
  });
});

describe("the threads of the models", () => {
  const most = async (): Promise<number> => {
    const quota = parseCpuMax(await readFile("/sys/fs/cgroup/cpu.max", "utf8").catch(() => "max"));
    return Math.max(1, Math.floor(Math.min(availableParallelism(), quota)));
  };

  test("are as many as the process has cores where none are configured", async () => {
    const { threads, reason } = await threadBudget(0);
    expect(threads).toBe(await most());
    expect(reason).toMatch(/^the (cgroup allows|process may use) [\d.]+ cores$/);
  });

  test("are as many as are configured", async () => {
    expect(await threadBudget(1)).toEqual({ threads: 1, reason: "configured" });
    const all = await most();
    expect(await threadBudget(all)).toEqual({ threads: all, reason: "configured" });
  });

  test("are never more than there are cores, and the reason says so", async () => {
    const { threads, reason } = await threadBudget(100_000);
    expect(threads).toBe(await most());
    expect(reason).toStartWith("100000 configured, but the ");
  });
});
