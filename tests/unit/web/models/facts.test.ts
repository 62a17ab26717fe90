import { describe, expect, test } from "bun:test";
import type { Model } from "../../../../src/client/wire.ts";
import {
  factsOf,
  memoryNote,
  memoryParts,
  stateOf,
  waitingNote,
} from "../../../../src/web/models/facts.ts";

const model: Model = {
  ...{ id: "m", created: 1, object: "model", owned_by: "paddock", type: "chat" },
  ...{ max_model_len: 4096, context_length: 4096, loaded: false, capabilities: ["tools"] },
  ...{ unloadable: true, removable: true, size: 2.5e9, quantization: "Q4_K_M" },
};

describe("a model", () => {
  test("is described by what is known of it", () => {
    expect(factsOf({ ...model, parameters: 1_100_048_384 })).toEqual([
      ...["Chat model", "2.5 GB", "Q4_K_M", "1.1 B parameters"],
      ...["4,096 tokens of context", "tools"],
    ]);
    const { size: _, quantization: __, ...upstream } = model;
    expect(
      factsOf({
        ...upstream,
        type: "embedding",
        capabilities: ["embedding"],
        parameters: 22_500_000,
      }),
    ).toEqual(["Embedding model", "23 M parameters", "4,096 tokens of context"]);
  });

  test.each<[Partial<Model>, string, RegExp | undefined]>([
    [{ loaded: true }, "In memory", undefined],
    [{}, "Not in memory", /loads it \(2\.5 GB\) before the answer begins/],
    [{ loading: true }, "Being loaded", /Your question waits for it/],
    [{ error: "It is torn." }, "Could not be loaded", /: It is torn\. Your next question tries/],
  ])("says what a question to it leads to: %j", (state, word, note) => {
    expect(stateOf({ ...model, ...state }).word).toBe(word);
    const said = waitingNote({ ...model, ...state });
    if (note === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(note);
  });

  test("says how much memory it has, and until when", () => {
    expect(memoryNote(model)).toBeUndefined();
    expect(memoryNote({ ...model, memory_bytes: 3e9 })).toBe("Uses 3.0 GB of memory");
    expect(memoryNote({ ...model, memory_bytes: 3e9, unloads_at: 0 })).toMatch(
      /^Uses 3\.0 GB of memory, until .+ unless it is used$/,
    );
  });
});

describe("the machine's memory", () => {
  const using = (...bytes: number[]): Model[] =>
    bytes.map((memory_bytes) => ({ ...model, memory_bytes }));

  test.each([
    ["is shared", [1, 2], { total: 10, free: 4 }, { models: 3, others: 3, free: 4 }],
    ["adds up with mapped files", [6], { total: 10, free: 9 }, { models: 6, others: 0, free: 4 }],
    ["is never exceeded", [12], { total: 10, free: 0 }, { models: 10, others: 0, free: 0 }],
    ["may hold no model", [], { total: 10, free: 9 }, { models: 0, others: 1, free: 9 }],
  ] as const)("%s", (_, bytes, memory, parts) => {
    expect(memoryParts(memory, using(...bytes))).toEqual(parts);
  });
});
