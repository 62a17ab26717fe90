import { describe, expect, test } from "bun:test";
import { parseCpuMax, threadBudget } from "../../../../src/engine/machine/thread-budget.ts";
import { madeControlGroups } from "../../../support/made-control-groups.ts";

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
