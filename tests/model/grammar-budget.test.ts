import { describe, expect, test } from "bun:test";
import { rejectionOf } from "../support/rejection.ts";
import { favour, generate, useTinyModel } from "./schema-answers.ts";

useTinyModel();

const numbered = <Value>(length: number, make: (at: number) => Value): Value[] =>
  Array.from({ length }, (_, at) => make(at));

const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});

const record = (length: number, make: (at: number) => object) =>
  Object.fromEntries(numbered(length, (at) => [`p${at}`, make(at)]));

/** Lists in lists, each with two readings. */
const twins = (levels: number): object => ({
  $ref: "#/$defs/d0",
  $defs: Object.fromEntries([
    ...numbered(levels, (at) => [
      `d${at}`,
      {
        anyOf: [5, 6].map((maxItems) => ({
          type: "array",
          items: { $ref: `#/$defs/d${at + 1}` },
          minItems: 1,
          maxItems,
        })),
      },
    ]),
    [`d${levels}`, { type: "integer" }],
  ]),
});

/** As large as the limits let through, each in its own way. */
const largest: Record<string, object> = {
  "thousands of required properties": object(record(6000, () => ({ type: "integer" }))),
  "as many optional properties as may be": object(
    record(500, () => ({ type: "integer" })),
    [],
  ),
  "as many open readings as may be": twins(7),
  "tens of thousands of values": { enum: numbered(40_000, (at) => `value ${at}`) },
  "a thousand characters that may come next": {
    enum: numbered(1000, (at) => `${String.fromCodePoint(0x4e00 + at)}${at}`),
  },
  "a pattern of thousands of states": { type: "string", pattern: "^([a-z][0-9]){0,900}$" },
  "a pattern with countless readings": { type: "string", pattern: "^((a|b|ab)*(a|b)*)*c?$" },
  "long texts and lists": object(
    record(12, (at) => ({ type: "string", minLength: at, maxLength: 2000 })),
  ),
};

describe("the largest grammars that the limits let through", () => {
  // A random model writes such an answer to its end by chance only; the bound on tokens ends it.
  test.each(Object.entries(largest))("hold an answer: %s", async (_, schema) => {
    const { reason } = await generate(schema, 1, favour([4, "[", '"']), 60);
    expect(["stop", "length"]).toContain(reason);
  });

  test("are refused beyond them, by the field and the limit, and the model goes on answering", async () => {
    for (const [schema, limit] of [
      [twins(8), "128 parses"],
      [
        object(
          record(501, () => ({ type: "integer" })),
          [],
        ),
        "500 that are not required",
      ],
      [{ type: "string", pattern: "^([a-z][0-9]){0,2001}$" }, "4000 states"],
      [
        object(record(80, (at) => ({ type: "string", maxLength: 1900 + at }))),
        "1000000 characters",
      ],
      [{ anyOf: [{ $ref: "#" }, { type: "null" }] }, "refers to itself"],
    ] as const) {
      expect(await rejectionOf(generate(schema, 1))).toMatchObject({
        name: "NodeError",
        kind: "invalid_request",
        subject: { part: expect.stringMatching(/^(format|schema)$/) },
        message: expect.stringContaining(limit),
      });
    }
    expect((await generate({ const: 1 }, 1)).text).toBe("1");
  });
});
