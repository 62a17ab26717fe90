import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Machine } from "../../../../src/engine/machine/machine.ts";
import {
  type AutoSettingsInput,
  chooseSettings,
  estimateMemory,
  pickChatModel,
} from "../../../../src/engine/machine/model-memory.ts";
import { largeChat, smallChat, smallEmbedding } from "../../../support/model-facts.ts";

describe("the memory that a model takes", () => {
  test("is its weights, a cache for each answer, and room to calculate in", () => {
    expect(estimateMemory(largeChat, { contextSize: 8192, parallel: 4 })).toEqual({
      weights: 4_920_734_272,
      cache: 131_072 * 8192 * 4,
      working: 396_886_016,
      total: 4_920_734_272 + 4_294_967_296 + 396_886_016,
    });
  });

  test("has no cache for a model that reads a text at once, and room for each of its contexts", () => {
    const one = estimateMemory(smallEmbedding, { contextSize: 512, parallel: 1 });
    const two = estimateMemory(smallEmbedding, { contextSize: 512, parallel: 2 });
    expect([one.cache, two.cache]).toEqual([0, 0]);
    expect(two.working).toBe(2 * one.working);
  });

  test("has no more room for a batch than the context can fill", () => {
    const demand = { contextSize: 128, parallel: 1 };
    expect(estimateMemory(largeChat, { ...demand, batchSize: 2048 })).toEqual(
      estimateMemory(largeChat, { ...demand, batchSize: 128 }),
    );
  });
});

const GB = 1e9;
const wanted = { ctxSize: "auto", batchSize: "auto", nGpuLayers: "auto" } as const;

const machine = (memory: number, free = memory * 0.75): Machine => ({
  memory: memory * GB,
  availableMemory: free * GB,
  memoryBound: "machine",
});
const withAccelerator = (memory: number, vram: number): Machine => ({
  ...machine(memory),
  accelerator: { memory: vram * GB, availableMemory: vram * 0.95 * GB },
});

function sizes(
  facts: AutoSettingsInput["facts"],
  on: Machine,
  parallel = 4,
  wish: AutoSettingsInput["wanted"] = wanted,
) {
  const { why: _, ...chosen } = chooseSettings({ facts, machine: on, wanted: wish, parallel });
  return [chosen.ctxSize, chosen.batchSize, chosen.nGpuLayers];
}

describe("sizes chosen for a machine", () => {
  test.each<[string, AutoSettingsInput["facts"], Machine, number[]]>([
    ["a small model on a laptop of 2 GB", smallChat, machine(2), [512, 128, 0]],
    ["a small model on 4 GB", smallChat, machine(4), [2048, 512, 0]],
    ["a small model on 64 GB", smallChat, machine(64), [2048, 512, 0]],
    ["a large model on 8 GB", largeChat, machine(8), [512, 128, 0]],
    ["a large model on 16 GB", largeChat, machine(16), [4096, 512, 0]],
    ["a large model on 64 GB", largeChat, machine(64), [32_768, 512, 0]],
    [
      "a small model with 8 GB on an accelerator",
      smallChat,
      withAccelerator(16, 8),
      [2048, 2048, 23],
    ],
    [
      "a large model with 8 GB on an accelerator",
      largeChat,
      withAccelerator(16, 8),
      [4096, 512, 30],
    ],
    [
      "a large model with 24 GB on an accelerator",
      largeChat,
      withAccelerator(32, 24),
      [16_384, 2048, 33],
    ],
    [
      "a large model with 2 GB on an accelerator",
      largeChat,
      withAccelerator(16, 2),
      [4096, 512, 6],
    ],
    ["an embedding model on 2 GB", smallEmbedding, machine(2), [512, 512, 0]],
  ])("%s", (_, facts, on, expected) => {
    expect(sizes(facts, on)).toEqual(expected);
  });

  test("heed what a control group grants, not what the machine has", () => {
    const bound: Machine = {
      memory: 10 * GB,
      availableMemory: 9.5 * GB,
      memoryBound: "control group",
    };
    const { ctxSize, why } = chooseSettings({
      facts: largeChat,
      machine: bound,
      wanted,
      parallel: 4,
    });
    expect(ctxSize).toBe(4096);
    expect(why).toBe("takes about 7.5 GB of 9.5 GB free memory (bound by a control group)");
  });

  test("leave each answer less where more are given at once", () => {
    expect(sizes(largeChat, machine(16), 1)[0]).toBe(16_384);
    expect(sizes(largeChat, machine(16), 16)[0]).toBe(2048);
  });

  test("leave alone what was given", () => {
    const given = { ctxSize: 1024, batchSize: 64, nGpuLayers: 5 };
    expect(sizes(largeChat, withAccelerator(64, 24), 4, given)).toEqual([1024, 64, 5]);
    const onlyLayers = { ...given, nGpuLayers: "auto" } as const;
    expect(sizes(largeChat, withAccelerator(64, 24), 4, onlyLayers)).toEqual([1024, 64, 33]);
    const trained = { ...given, ctxSize: 0 };
    expect(sizes(smallChat, machine(64), 4, trained)[0]).toBe(2048);
    expect(sizes(largeChat, machine(64), 4, trained)[0]).toBe(4096);
  });

  test("say so where even the smallest are too much", () => {
    const { ctxSize, why } = chooseSettings({
      facts: largeChat,
      machine: machine(2),
      wanted,
      parallel: 4,
    });
    expect(ctxSize).toBe(512);
    expect(why).toContain("which is too little; take a smaller model");
  });

  test("never exceed what is free or what the model was trained on, on any machine", () => {
    const amount = fc.double({ min: 0.5, max: 128, noNaN: true });
    const anyMachine = fc.record({
      memory: amount,
      vram: amount,
      trained: fc.integer({ min: 64, max: 200_000 }),
    });
    fc.assert(
      fc.property(
        anyMachine,
        fc.integer({ min: 1, max: 64 }),
        ({ memory, vram, trained }, parallel) => {
          const facts = { ...largeChat, trainContext: trained };
          const on = withAccelerator(memory, vram);
          const { ctxSize, batchSize, nGpuLayers, why } = chooseSettings({
            facts,
            machine: on,
            wanted,
            parallel,
          });
          expect(ctxSize).toBeGreaterThan(0);
          expect(ctxSize).toBeLessThanOrEqual(trained);
          expect(nGpuLayers).toBeGreaterThanOrEqual(0);
          expect(nGpuLayers).toBeLessThanOrEqual(facts.layers + 1);
          if (why.includes("too little")) return;
          const { total } = estimateMemory(facts, { contextSize: ctxSize, parallel, batchSize });
          expect(total).toBeLessThanOrEqual(on.availableMemory + vram * GB);
        },
      ),
    );
  });
});

describe("the model of a node that names none", () => {
  test.each([
    [2, undefined],
    [8, "small"],
    [16, "large"],
    [64, "large"],
  ])("is the largest that leaves room on %p GB: %p", (memory, name) => {
    const picked = pickChatModel([smallChat, largeChat, smallEmbedding], machine(memory), 4);
    expect(picked?.name).toBe(name);
  });

  test("is one that can chat", () => {
    const wordless = { ...largeChat, hasChatTemplate: false };
    expect(pickChatModel([wordless, smallEmbedding], machine(64), 4)).toBeUndefined();
  });

  test("is, of one model in two forms, the better one", () => {
    const coarse = { ...smallChat, name: "coarse", bytes: 400_000_000 };
    expect(pickChatModel([coarse, smallChat], machine(64), 4)).toBe(smallChat);
  });
});
