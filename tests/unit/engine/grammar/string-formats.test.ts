import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { patternGrammar } from "../../../../src/engine/grammar/pattern.ts";
import { GrammarRules } from "../../../../src/engine/grammar/rules.ts";
import { stringFormats } from "../../../../src/engine/grammar/string-formats.ts";
import { GbnfMachine } from "./gbnf-machine.ts";

const ajv = new Ajv({ strict: false });
addFormats(ajv);

describe("the pattern of a string format", () => {
  test.each(Object.entries(stringFormats))("writes only members of it: %s", (format, pattern) => {
    const validate = ajv.compile({ type: "string", format });
    const rules = new GrammarRules();
    const root = patternGrammar(pattern, rules);
    const machine = new GbnfMachine(rules.toString(root));
    fc.assert(
      fc.property(machine.sentences(), (text) => {
        expect([text, validate(text)]).toEqual([text, true]);
      }),
      { numRuns: 500 },
    );
  });
});
