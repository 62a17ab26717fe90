import { describe, expect, test } from "bun:test";
import { isLaterPart, missingParts, partsOf } from "../../../../src/core/models/model-files.ts";

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

  test("are named as that one is", () => {
    const parts = ["M-00001-of-00002.GGUF", "M-00002-of-00002.GGUF"];
    expect(parts.map(partsOf)).toEqual([parts, parts]);
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

test("the files that are missing are named, a few of many", () => {
  expect(missingParts(["/dir/m.gguf"], 1)).toBe("'m.gguf' is not there");
  const [, ...missing] = partsOf("/dir/m-00001-of-00009.gguf");
  expect(missingParts(missing, 9)).toBe(
    "'m-00002-of-00009.gguf', 'm-00003-of-00009.gguf', 'm-00004-of-00009.gguf', 'm-00005-of-00009.gguf', 'm-00006-of-00009.gguf' and 3 more of its 9 files are not there",
  );
});
