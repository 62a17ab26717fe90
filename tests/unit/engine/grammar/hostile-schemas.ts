/** Small schemas that would be large work: each way in which shared parts, counts or names multiply. */

const numbered = <Value>(length: number, make: (at: number) => Value): Value[] =>
  Array.from({ length }, (_, at) => make(at));

const record = (length: number, make: (at: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(numbered(length, (at) => [`p${at}`, make(at)]));

const last = { type: "object", properties: { x: { type: "integer" } }, required: ["x"] };

/** Definitions of which each refers to the next. */
function chain(levels: number, make: (next: string) => unknown): object {
  const $defs = Object.fromEntries([
    ...numbered(levels, (at) => [`d${at}`, make(`#/$defs/d${at + 1}`)]),
    [`d${levels}`, last],
  ]);
  return { $ref: "#/$defs/d0", $defs };
}

function nested(levels: number, wrap: (inner: object) => object): object {
  let schema: object = { type: "boolean" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

/** They say little however they are combined, so they are compiled. */
export const repetitive: Readonly<Record<string, unknown>> = {
  "allOf of the same twice": chain(60, ($ref) => ({ allOf: [{ $ref }, { $ref }] })),
  "allOf of the same twice, with more beside it": chain(60, ($ref) => ({
    allOf: [
      { $ref, maxProperties: 9 },
      { $ref, maxProperties: 8 },
    ],
  })),
  "references beside a keyword": chain(25, ($ref) => ({
    type: "object",
    properties: { a: { $ref, maxProperties: 9 }, b: { $ref, maxProperties: 8 } },
  })),
  "anyOf beside a keyword": chain(25, ($ref) => ({
    type: "object",
    anyOf: [{ $ref }, { $ref, maxProperties: 9 }],
  })),
  "anyOf of the same twice": chain(30, ($ref) => ({ anyOf: [{ $ref }, { $ref }] })),
  "a type listed twice": nested(60, (a) => ({ type: ["object", "object"], properties: { a } })),
  "properties of the same": chain(30, ($ref) => ({
    type: "object",
    properties: record(20, () => ({ $ref })),
  })),
  "a tuple of many constants": { prefixItems: numbered(12_000, (at) => ({ const: at })) },
  "one name for many rules": {
    prefixItems: numbered(3000, (at) => ({
      type: "object",
      properties: { a: { const: at } },
      required: ["a"],
    })),
  },
  "many values": { enum: numbered(40_000, (at) => `value ${at}`) },
  "values of one character": { enum: numbered(5000, (at) => String.fromCodePoint(0x4e00 + at)) },
  "values that begin with each other": { enum: numbered(1000, (at) => "a".repeat(at)) },
  "many constants, one of them": { oneOf: numbered(5000, (at) => ({ const: at })) },
  "two large enums, one of them": {
    oneOf: ["a", "b"].map((name) => ({ enum: numbered(8_000, (at) => `${name}${at}`) })),
  },
  "many required properties": {
    type: "object",
    properties: record(5000, () => ({ type: "integer" })),
    required: numbered(5000, (at) => `p${at}`),
  },
  "a long name": {
    type: "object",
    properties: { [`${"a".repeat(200_000)}`]: { type: "integer" }, b: { type: "integer" } },
  },
  "a long text": { const: "a".repeat(200_000) },
  "a long name, as an option in many places": {
    prefixItems: numbered(2000, (at) => ({ anyOf: [{ $ref: "#/$defs/long" }, { const: at }] })),
    $defs: {
      long: { type: "object", properties: { ["a".repeat(200_000)]: { type: "integer" } } },
    },
  },
  "one length in many places": {
    type: "object",
    properties: record(500, () => ({ type: "string", maxLength: 2000 })),
  },
};

/** They would be large however they were compiled, so they are refused. */
export const excessive: Readonly<Record<string, unknown>> = {
  "anyOf beside what each adds to": chain(40, ($ref) => ({
    anyOf: [{ $ref }, { $ref, properties: { [`p${$ref.length}${$ref}`]: true } }],
    type: "object",
  })),
  "options inside options": {
    $ref: "#/$defs/a0",
    $defs: Object.fromEntries([
      ...numbered(40, (at) => [
        `a${at}`,
        { anyOf: [{ $ref: `#/$defs/a${at + 1}` }, { $ref: `#/$defs/b${at + 1}` }] },
      ]),
      ...numbered(40, (at) => [
        `b${at}`,
        { anyOf: [{ $ref: `#/$defs/b${at + 1}` }, { $ref: `#/$defs/a${at + 1}` }] },
      ]),
      ["a40", { type: "object" }],
      ["b40", { type: "array" }],
    ]),
  },
  "readings that multiply with every level": {
    anyOf: [
      { type: "array", items: { $ref: "#" }, maxItems: 5 },
      { type: "array", items: { $ref: "#" }, maxItems: 6 },
    ],
  },
  "readings that multiply through a property": {
    anyOf: [5, 6].map((maxItems) => ({
      type: "object",
      properties: { of: { type: "array", maxItems, items: { $ref: "#" } }, x: { const: maxItems } },
      required: ["of", "x"],
    })),
  },
  "a schema inside itself": nested(500, (items) => ({ type: "array", items })),
  "a reference that adds to itself": {
    $ref: "#/$defs/a",
    $defs: {
      a: {
        type: "object",
        properties: {
          x: { $ref: "#/$defs/a", maxProperties: 9 },
          y: { $ref: "#/$defs/a", maxProperties: 8 },
        },
      },
    },
  },
  "names for names, each begun with": {
    prefixItems: numbered(6000, (at) => ({ $ref: `#/$defs/d${6000 - at}` })),
    $defs: Object.fromEntries([
      ...numbered(6000, (at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]),
      ["d6000", { type: "null" }],
    ]),
  },
  "a long text, as an option in many places": {
    prefixItems: numbered(3000, (at) => ({ anyOf: [{ $ref: "#/$defs/long" }, { const: at }] })),
    $defs: { long: { anyOf: [{ const: "a".repeat(330_000) }, { type: "array" }] } },
  },
  "references in a circle": chain(3, () => ({ $ref: "#/$defs/d0" })),
  "anyOf of itself": { anyOf: [{ $ref: "#" }, { type: "integer" }] },
  "allOf of itself": { allOf: [{ $ref: "#" }, { type: "integer" }] },
  "more values than a grammar holds": { enum: numbered(200_000, (at) => `value ${at * 7919}`) },
  "values that all begin otherwise": {
    enum: numbered(5000, (at) => `${String.fromCodePoint(0x4e00 + at)}${at}`),
  },
  "a text of a million characters": { const: "a".repeat(1_000_001) },
  "a hundred thousand properties": {
    type: "object",
    properties: record(100_000, () => ({ type: "integer" })),
  },
  "a hundred thousand required properties": {
    type: "object",
    properties: record(100_000, () => ({ type: "integer" })),
    required: numbered(100_000, (at) => `p${at}`),
  },
  "lengths up to thousands": {
    type: "object",
    properties: record(500, (at) => ({ type: "string", maxLength: 2000 - at })),
  },
  "lists up to thousands": {
    type: "object",
    properties: record(300, (at) => ({ type: "array", items: { const: at }, maxItems: 2000 })),
  },
  "a count of a million": { type: "string", maxLength: 1_000_000 },
  "a million of the largest number": { type: "array", minItems: 1e300 },
  "a number of three hundred digits": { type: "integer", maximum: 1e300 },
  "a thousand ranges": {
    type: "object",
    properties: record(400, (at) => ({ type: "integer", minimum: -1e12 - at, maximum: 1e15 + at })),
    required: numbered(400, (at) => `p${at}`),
    anyOf: numbered(40, (at) => ({ properties: { q: { minimum: at, maximum: 8e15 + at } } })),
  },
  "objects, one of many": {
    oneOf: numbered(2000, (at) => ({
      type: "object",
      properties: { a: { const: at } },
      required: ["a"],
    })),
  },
  "a pattern of parentheses": { type: "string", pattern: "(".repeat(20_000) + ")".repeat(20_000) },
  "a pattern that counts to a million": { type: "string", pattern: "^a{1000000}$" },
  "patterns, a hundred of them": {
    type: "object",
    properties: record(100, (at) => ({ type: "string", pattern: `^.{0,${1000 - at}}$` })),
  },
  "an escape that is none": { $ref: "#/%zz" },
  "a pointer of a million steps": { $ref: `#${"/a".repeat(1_000_000)}` },
  "enums in many parts": {
    allOf: numbered(2000, () => ({ enum: numbered(500, (at) => `value ${at}`) })),
  },
};
