import { expect, test } from "bun:test";
import { textOfParts } from "../../../../src/server/wire/text-parts.ts";

const types = { readable: new Set(["text"]), names: new Map([["image", "images"]]) };

test("parts of text are joined", () => {
  const parts = [
    { type: "text", text: "a" },
    { type: "refusal", refusal: "b" },
  ];
  expect([textOfParts(parts, "content", types), textOfParts("c", "content", types)]).toEqual([
    "ab",
    "c",
  ]);
});

test.each([
  ["image", "no images"],
  ["smell", "no parts of type 'smell'"],
  // The name of what every object has.
  ["constructor", "no parts of type 'constructor'"],
])("a part of type %s is refused by name", (type, said) => {
  expect(() => textOfParts([{ type }], "content", types)).toThrow(
    `'content[0]' has the type '${type}': this node's models read text only, ${said}.`,
  );
});
