import { describe, expect, test } from "bun:test";
import { type Piece, piecesOf } from "../../../../src/web/markdown/markers.ts";

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
