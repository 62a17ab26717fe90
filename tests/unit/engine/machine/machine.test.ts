import { describe, expect, test } from "bun:test";
import {
  groupsIn,
  type Machine,
  parseCpuMax,
  parseMemAvailable,
  readMachineMemory,
  threadBudget,
  withBound,
  withinLimit,
} from "../../../../src/engine/machine/machine.ts";
import { madeControlGroups } from "../../../support/made-control-groups.ts";

const GiB = 1024 ** 3;
const machine: Machine = { memory: 8 * GiB, availableMemory: 5 * GiB, memoryBound: "machine" };

test("a limit takes memory away, and never gives any", () => {
  expect(withinLimit(machine, 6e9)).toEqual({ ...machine, memory: 6e9 });
  expect(withinLimit(machine, 2e9)).toEqual({ ...machine, memory: 2e9, availableMemory: 2e9 });
  expect(withinLimit(machine, 64e9)).toEqual(machine);
  expect(withinLimit(machine, undefined)).toEqual(machine);
});

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
    const folders = (text: string) =>
      groupsIn(text, "memory", "/cg").map(({ version, folder }) => `${version} ${folder}`);
    expect(folders("0::/system.slice/paddock.service\n")).toEqual([
      "2 /cg/system.slice/paddock.service",
      "2 /cg/system.slice",
      "2 /cg",
      "2 /cg/unified/system.slice/paddock.service",
      "2 /cg/unified/system.slice",
      "2 /cg/unified",
    ]);
    expect(folders("5:cpu:/other\n4:memory:/a/b\n")).toEqual([
      "1 /cg/memory/a/b",
      "1 /cg/memory/a",
      "1 /cg/memory",
    ]);
    expect(folders("")).toEqual(["2 /cg"]);
  });

  test.each([
    ["version 2", "0::/a/b\n", "a", { most: "memory.max", used: "memory.current" }],
    [
      "version 1",
      "4:memory:/a/b\n0::/\n",
      "memory/a",
      { most: "memory.limit_in_bytes", used: "memory.usage_in_bytes" },
    ],
  ] as const)("of %s is read where the kernel shows it", async (_, membership, folder, files) => {
    await using made = await madeControlGroups(membership, {
      [`${folder}/${files.most}`]: "64000000\n",
      [`${folder}/${files.used}`]: "48000000\n",
      [`${folder}/memory.stat`]: "inactive_file 1\ntotal_inactive_file 8000000\n",
    });
    expect(await readMachineMemory(made.places)).toEqual({
      memory: 64_000_000,
      availableMemory: 24_000_000,
      memoryBound: "control group",
    });
  });
});

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
    ["-1\n 100000\n", Number.POSITIVE_INFINITY],
    ["nonsense here", Number.POSITIVE_INFINITY],
  ])("are read from %j", (text, cores) => {
    expect(parseCpuMax(text)).toBe(cores);
  });
});

const unit = "0::/system.slice/paddock.service\n";

/** The budget on a machine of eight cores. */
async function budget(
  configured: number,
  membership = "",
  files: Readonly<Record<string, string>> = {},
) {
  await using made = await madeControlGroups(membership, files);
  return await threadBudget(configured, { cores: 8, places: made.places });
}

describe("the threads of the models", () => {
  test("are as many as the process has cores where none are configured", async () => {
    expect(await budget(0)).toEqual({ threads: 8, reason: "the process may use 8 cores" });
  });

  test("are as many as are configured", async () => {
    expect(await budget(1)).toEqual({ threads: 1, reason: "configured" });
    expect(await budget(8)).toEqual({ threads: 8, reason: "configured" });
  });

  test("are never more than there are cores, and the reason says so", async () => {
    const reason = "100000 configured, but the process may use 8 cores";
    expect(await budget(100_000)).toEqual({ threads: 8, reason });
  });

  test.each([
    ["a unit's own quota", unit, { "system.slice/paddock.service/cpu.max": "300000 100000\n" }],
    [
      "the quota of a slice above it, where that is the stricter",
      unit,
      {
        "system.slice/paddock.service/cpu.max": "600000 100000\n",
        "system.slice/cpu.max": "300000 100000\n",
      },
    ],
    ["the quota at the top, as in a container", "0::/\n", { "cpu.max": "300000 100000\n" }],
    [
      "a quota of version 1",
      "4:memory:/elsewhere\n3:cpu,cpuacct:/system.slice/paddock.service\n0::/\n",
      {
        "cpu,cpuacct/system.slice/paddock.service/cpu.cfs_quota_us": "300000\n",
        "cpu,cpuacct/system.slice/paddock.service/cpu.cfs_period_us": "100000\n",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
      },
    ],
    [
      "a quota of version 1 around a container, which sees its own group at the top",
      "3:cpuacct,cpu:/docker/0123456789ab\n",
      { "cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "50000\n" },
    ],
    [
      "a quota of version 2 beside version 1",
      "3:memory:/\n0::/paddock\n",
      { "unified/paddock/cpu.max": "300000 100000\n" },
    ],
  ] as const)("keep to %s", async (_, membership, files) => {
    const why = "the cgroup allows 3 cores";
    expect(await budget(0, membership, files)).toEqual({ threads: 3, reason: why });
    expect(await budget(5, membership, files)).toEqual({
      threads: 3,
      reason: `5 configured, but ${why}`,
    });
  });

  test("are not bounded by the group of another", async () => {
    const files = { "system.slice/other.service/cpu.max": "100000 100000\n" };
    expect((await budget(0, unit, files)).threads).toBe(8);
  });

  test("are one where less than a core is granted", async () => {
    expect(await budget(0, "0::/\n", { "cpu.max": "50000 100000" })).toEqual({
      threads: 1,
      reason: "the cgroup allows 0.5 cores",
    });
  });

  test("are found on the machine at hand", async () => {
    const { threads, reason } = await threadBudget(0);
    expect(threads).toBeGreaterThanOrEqual(1);
    expect(reason).toMatch(/^the (cgroup allows|process may use) [\d.]+ cores$/);
  });
});
