import { describe, expect, test } from "bun:test";
import { isLaterPart, partsOf } from "../../../src/core/split-model.ts";

describe("the files of a model", () => {
  test("are all its parts, whichever of them is named", () => {
    const parts = [
      "dir/big-00001-of-00003.gguf",
      "dir/big-00002-of-00003.gguf",
      "dir/big-00003-of-00003.gguf",
    ];
    for (const part of parts) expect(partsOf(part)).toEqual(parts);
    expect(parts.map(isLaterPart)).toEqual([false, true, true]);
  });

  test.each([
    "model.gguf",
    "model-00004-of-00003.gguf",
    "model-00000-of-00003.gguf",
    "model-1-of-3.gguf",
    "model-00001-of-99999.gguf",
    "model-00001-of-00003.bin",
  ])("is that one where it is no part: %s", (file) => {
    expect(partsOf(file)).toEqual([file]);
    expect(isLaterPart(file)).toBe(false);
  });
});
