import { describe, expect, test } from "bun:test";
import {
  isSamePassage,
  markedAt,
  pageOf,
  readingOf,
} from "../../../../src/web/documents/reading.ts";

const metadata = { id: "p", document: "animals.md", heading: "Llamas", position: 41 };
const point = { source: "Llamas hum.", score: 0.9 };

describe("the document of a passage", () => {
  test("is known where the passage says in which collection it is", () => {
    const place = { ...metadata, file_id: "file-1", vector_store_id: "vs_1" };
    expect(readingOf({ ...point, metadata: place })).toEqual({
      ...{ store: "vs_1", file: "file-1", name: "animals.md" },
      marked: { position: 41, source: "Llamas hum.", heading: "Llamas" },
    });
  });

  test.each([[undefined], [metadata], [{ ...metadata, file_id: null, vector_store_id: "vs_1" }]])(
    "is not known from %j",
    (about) => {
      expect(
        readingOf({ ...point, ...(about === undefined ? {} : { metadata: about }) }),
      ).toBeUndefined();
    },
  );

  test("is opened at the page that the passage is on", () => {
    expect([0, 19, 20, 41].map(pageOf)).toEqual([0, 0, 20, 40]);
  });

  test.each([
    ["Llamas hum.", true],
    ["Llamas\n\nhum.", true],
    ["Animals > Llamas Llamas hum.", true],
    ["Llamas", true],
    ["Alpacas sing.", false],
    ["", false],
  ])("has the same passage still, or another: %j", (text, isSame) => {
    expect(isSamePassage(text, { position: 0, source: "Llamas hum.", heading: null })).toBe(isSame);
  });
});

describe("the marked passage of a page", () => {
  const marked = { position: 21, source: "Llamas hum.", heading: null };
  test.each([
    [20, ["Cows moo.", "Llamas hum."], 1],
    [20, ["Llamas hum.", "Cows moo."], 0],
    [20, ["Cows moo.", "Pigs oink."], -1],
    [20, [], -1],
    [0, ["Llamas hum."], undefined],
  ])("from %p on, with %j, is at %p", (from, texts, at) => {
    expect(markedAt({ from, texts, hasMore: false }, marked)).toBe(at);
  });
});
