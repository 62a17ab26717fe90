import { describe, expect, test } from "bun:test";
import { readArchive, toHeaderLine, toLine } from "../../../src/ingest/archive.ts";
import { collect } from "../../support/collect.ts";
import { passage } from "../../support/passages.ts";
import { rejectionOf } from "../../support/rejection.ts";

async function* linesOf(...lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

const embedding = { model: "m", fingerprint: "f", queryPrefix: "q: ", documentPrefix: "" };
const header = toHeaderLine({ name: "n", dimension: 3, distance: "cosine", url: "x", embedding });

describe("an archive", () => {
  test("holds what was written, to the last bit", async () => {
    const passages = [passage(1, [1, 2, 3]), passage(2, [0.1, -0.2, 0.3], { document: "ü.md" })];
    const archive = await readArchive(linesOf(header, ...passages.map(toLine)));
    expect(archive.embedding).toEqual(embedding);
    expect(await collect(archive.passages)).toEqual(passages);
  });

  test("needs no more than a source", async () => {
    const archive = await readArchive(linesOf('{"source":"one"}', "", '{"source":"one"}'));
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
    const [found] = await collect((await readArchive(linesOf(line))).passages);
    expect(found?.vector).toEqual(Float32Array.of(1, 0.5));
  });

  test("is empty where there is nothing", async () => {
    expect(await collect((await readArchive(linesOf())).passages)).toEqual([]);
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
    const read = async () => collect((await readArchive(linesOf(...lines))).passages);
    expect(await rejectionOf(read())).toMatchObject({ kind: "invalid_request", message });
  });
});
