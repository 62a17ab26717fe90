import { describe, expect, test } from "bun:test";
import type { Machine } from "../../../src/core/machine.ts";
import {
  cgroupFolders,
  parseMemAvailable,
  readMachineMemory,
  withBound,
} from "../../../src/engine/machine-memory.ts";

const GiB = 1024 ** 3;
const machine: Machine = { memory: 8 * GiB, availableMemory: 5 * GiB, memoryBound: "machine" };

describe("the memory of the machine", () => {
  test("is what the system says", async () => {
    const { memory, availableMemory } = await readMachineMemory();
    expect(memory).toBeGreaterThan(64 * 1024 ** 2);
    expect(availableMemory).toBeGreaterThan(0);
    expect(availableMemory).toBeLessThanOrEqual(memory);
  });

  test("is what could be had, not only what lies idle", () => {
    expect(parseMemAvailable("MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable:   70 kB\n")).toBe(
      71_680,
    );
    expect(parseMemAvailable("")).toBeUndefined();
  });
});

describe("a control group", () => {
  test("bounds the memory, and counts no files that the kernel only keeps", () => {
    const bound = {
      most: `${2 * GiB}\n`,
      used: `${GiB}\n`,
      statistics: `anon 1\ninactive_file ${GiB / 2}\nactive_file 3\n`,
    };
    expect(withBound(machine, bound)).toEqual({
      memory: 2 * GiB,
      availableMemory: 1.5 * GiB,
      memoryBound: "control group",
    });
  });

  test.each(["max\n", undefined, ""])("without a bound changes nothing: %p", (most) => {
    expect(withBound(machine, { most, used: "5", statistics: undefined })).toEqual(machine);
  });

  test("with more than the machine has bounds nothing but what it has left", () => {
    const bound = { most: `${16 * GiB}`, used: `${15 * GiB}`, statistics: undefined };
    expect(withBound(machine, bound)).toEqual({ ...machine, availableMemory: GiB });
  });

  test("is bounded by those above it too", () => {
    expect(cgroupFolders("0::/system.slice/paddock.service\n")).toEqual([
      "/sys/fs/cgroup/system.slice/paddock.service",
      "/sys/fs/cgroup/system.slice",
      "/sys/fs/cgroup",
    ]);
    expect(cgroupFolders("")).toEqual(["/sys/fs/cgroup"]);
  });
});
