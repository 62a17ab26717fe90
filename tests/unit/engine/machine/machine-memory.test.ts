import { describe, expect, test } from "bun:test";
import { groupsIn } from "../../../../src/engine/machine/control-groups.ts";
import type { Machine } from "../../../../src/engine/machine/machine.ts";
import {
  parseMemAvailable,
  readMachineMemory,
  withBound,
} from "../../../../src/engine/machine/machine-memory.ts";
import { madeControlGroups } from "../../../support/made-control-groups.ts";

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
