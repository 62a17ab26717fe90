import { expect, test } from "bun:test";
import { linesOf } from "../../../src/ingest/lines.ts";
import { collect } from "../../support/collect.ts";
import { rejectionOf } from "../../support/rejection.ts";

async function* cutIn(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

test.each([1, 2, 3, 100])(
  "lines are whole, however their bytes are cut: in pieces of %d",
  async (size) => {
    expect(await collect(linesOf(cutIn("one\r\nzwö 👣\n\nlast", size)))).toEqual([
      "one",
      "zwö 👣",
      "",
      "last",
    ]);
    expect(await collect(linesOf(cutIn("one\n", size)))).toEqual(["one"]);
  },
);

test("a line that never ends is refused before all of it is read", async () => {
  let read = 0;
  const endless = (async function* () {
    yield new TextEncoder().encode("first\n");
    for (; read < 1000; read += 1) yield new TextEncoder().encode("x".repeat(100));
  })();
  const refusal = await rejectionOf(collect(linesOf(endless, 1000)));
  expect(refusal).toMatchObject({ kind: "invalid_request" });
  expect(String(refusal)).toContain("Line 2 is longer than 1000 characters");
  expect(read).toBeLessThan(20);
});
