import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { patternGrammar } from "../../../../src/engine/grammar/pattern.ts";
import { stringFormats } from "../../../../src/engine/grammar/string-formats.ts";
import { gbnfToRegExp } from "./gbnf-to-regexp.ts";

const ajv = new Ajv({ strict: false });
addFormats(ajv);

describe("the pattern of a string format", () => {
  test.each(Object.entries(stringFormats))("writes only members of it: %s", (format, pattern) => {
    const validate = ajv.compile({ type: "string", format });
    fc.assert(
      fc.property(fc.stringMatching(gbnfToRegExp(patternGrammar(pattern))), (text) => {
        expect([text, validate(text)]).toEqual([text, true]);
      }),
      { numRuns: 2000 },
    );
  });
});
