import { CString } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import { toCString, withPointers } from "../../../../src/engine/quantization/quantizer.ts";

const texts = Array.from({ length: 500 }, (_, at) => `/models/model-${at}.gguf`);

/** Has the collector take back what nobody holds, and fills what it took back with something else. */
function collectHard(): void {
  for (let round = 0; round < 5; round++) {
    Bun.gc(true);
    const others = Array.from({ length: 5000 }, (_, at) => toCString(`-another-text-${at}`));
    expect(others.length).toBe(5000);
  }
}

describe("memory that native code is handed by address", () => {
  test("is what it was for as long as native code has it", () => {
    const read = withPointers(texts.map(toCString), (...pointers) => {
      collectHard();
      return pointers.map((pointer) => String(new CString(pointer)));
    });
    expect(read).toEqual(texts);
  });

  test("is given back also where native code fails", () => {
    const buffer = toCString("a text");
    const failing = () =>
      withPointers([buffer], () => {
        throw new Error("failed");
      });
    expect(failing).toThrow("failed");
    expect(buffer.every((byte) => byte === 0)).toBe(true);
  });
});
