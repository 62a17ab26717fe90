import { describe, expect, test } from "bun:test";
import { linesOf, readArchive, toHeaderLine, toLine } from "../../../src/ingest/archive.ts";
import { collect } from "../../support/collect.ts";
import { passage } from "../../support/passages.ts";
import { rejectionOf } from "../../support/rejection.ts";

async function* archived(...lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

const embedding = { model: "m", fingerprint: "f", queryPrefix: "q: ", documentPrefix: "" };
const header = toHeaderLine({ name: "n", dimension: 3, distance: "cosine", url: "x", embedding });

describe("an archive", () => {
  test("holds what was written, to the last bit", async () => {
    const passages = [passage(1, [1, 2, 3]), passage(2, [0.1, -0.2, 0.3], { document: "ü.md" })];
    const archive = await readArchive(archived(header, ...passages.map(toLine)));
    expect(archive.embedding).toEqual(embedding);
    expect(await collect(archive.passages)).toEqual(passages);
  });

  test("needs no more than a source", async () => {
    const archive = await readArchive(archived('{"source":"one"}', "", '{"source":"one"}'));
    expect(archive.embedding).toBeUndefined();
    const [first, second, ...rest] = await collect(archive.passages);
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      source: "one",
      document: "",
      heading: "",
      position: 0,
      hash: expect.any(String),
      documentHash: "",
      parts: 0,
    });
    expect(second?.id).not.toBe(first?.id ?? "");
    expect(rest).toEqual([]);
  });

  test("takes vectors as numbers too", async () => {
    const line = JSON.stringify({ source: "one", vector: [1, 0.5] });
    const [found] = await collect((await readArchive(archived(line))).passages);
    expect(found?.vector).toEqual(Float32Array.of(1, 0.5));
  });

  test("is empty where there is nothing", async () => {
    expect(await collect((await readArchive(archived())).passages)).toEqual([]);
  });

  test.each([
    [["not JSON"], "Line 1 is not a JSON object."],
    [[header, '{"source":"a"}', "[1]"], "Line 3 is not a JSON object."],
    [[header, '{"text":"a"}'], "Line 2 has no text under 'source'."],
    [['{"source":" "}'], "Line 1 has no text under 'source'."],
    [
      ['{"source":"a","vector":["b"]}'],
      "Line 1 has a 'vector' that is neither numbers nor base64.",
    ],
    [['{"paddock_collection":9}'], "Line 1 is of format 9, which this Paddock does not know."],
  ])("is refused by the line that is wrong: %j", async (lines, message) => {
    const read = async () => collect((await readArchive(archived(...lines))).passages);
    expect(await rejectionOf(read())).toMatchObject({ kind: "invalid_request", message });
  });
});

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
