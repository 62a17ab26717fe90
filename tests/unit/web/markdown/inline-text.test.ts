import { describe, expect, test } from "bun:test";
import {
  decodeEntities,
  type Piece,
  piecesOf,
  safeLink,
} from "../../../../src/web/markdown/inline-text.ts";

describe("markers in a text", () => {
  const cases: [string, Piece[]][] = [
    ["They hum [1].", ["They hum [", { marker: 1 }, "]", "."]],
    ["[1][2]", ["[", { marker: 1 }, "]", "[", { marker: 2 }, "]"]],
    ["[1, 3]", ["[", { marker: 1 }, ", ", { marker: 3 }, "]"]],
    ["[0] [4] [1, 4] [x] []", ["[0] [4] [1, 4] [x] []"]],
    ["array[1234]", ["array[1234]"]],
    ["", []],
  ];
  test.each(cases)("%j", (text, pieces) => {
    expect(piecesOf(text, 3)).toEqual(pieces);
  });

  test("are all there again when the pieces are put together", () => {
    const text = "a [2] b [1,2] c [7]";
    const back = piecesOf(text, 3).map((piece) =>
      typeof piece === "string" ? piece : piece.marker,
    );
    expect(back.join("")).toBe("a [2] b [1, 2] c [7]");
  });
});

test.each([
  ["a &amp; b &lt;c&gt; &quot;d&quot; &#39;e&#x27;", "a & b <c> \"d\" 'e'"],
  ["&amp;lt;", "&lt;"],
  ["&#128512;", "😀"],
  [
    "&unknown; &amp &#xFFFFFF; &#9999999; &ne; AT&T",
    "&unknown; &amp &#xFFFFFF; &#9999999; &ne; AT&T",
  ],
])("%j reads %j", (text, read) => {
  expect(decodeEntities(text)).toBe(read);
});

test.each([
  ["https://example.org/a?b#c", "https://example.org/a?b#c"],
  ["HTTP://EXAMPLE.ORG", "http://example.org/"],
  ["mailto:ada@example.org", "mailto:ada@example.org"],
])("%s may be followed", (href, address) => {
  expect(safeLink(href)).toBe(address);
});

test.each([
  "javascript:alert(1)",
  " JavaScript:alert(1)",
  "java\nscript:alert(1)",
  "\u0001javascript:alert(1)",
  "data:text/html,x",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:https://example.org/1",
  "//example.org",
  "/v1/info",
  "#node",
  "",
])("%j may not", (href) => {
  expect(safeLink(href)).toBeUndefined();
});
