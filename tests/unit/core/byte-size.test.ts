import { expect, test } from "bun:test";
import { byteSize } from "../../../src/core/byte-size.ts";

test.each([
  [1, "1 byte"],
  [999, "999 bytes"],
  [1000, "1 kB"],
  [67_108_864, "67.1 MB"],
  [999_999, "1.0 MB"],
  [5e15, "5000.0 TB"],
])("%p bytes have a size that people read", (bytes, text) => {
  expect(byteSize(bytes)).toBe(text);
});
