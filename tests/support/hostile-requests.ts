/** Requests that a stranger might send: bodies that fit a schema, and then something in them that does not. */
import { Kind, OptionalKind, type TSchema } from "@sinclair/typebox";
import fc, { type Arbitrary } from "fast-check";

/** A part of a body as text, where no value could say it: a number beyond all bounds, a key twice. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const deep = (open: string, close: string, depth: number): Raw =>
  new Raw(open.repeat(depth) + close.repeat(depth));

/** What nobody who means well sends in the place of a value. */
const hostileValues: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    -1,
    1e308,
    -1e308,
    0.1,
    2 ** 31,
    2 ** 53,
    -(2 ** 53),
    "",
    " ",
    "null",
    "\u0000",
    "\ud800",
    "a\udfffb",
    "\u202e",
    "🐎".repeat(100),
    "x".repeat(5000),
    [],
    {},
    [[]],
    [null],
    { __proto__: null },
    { constructor: { prototype: { polluted: true } } },
    { toString: 1 },
    new Raw('{"then":"x"}'),
    { length: 3 },
    "__proto__",
    "constructor",
    "hasOwnProperty",
  ),
  fc.constantFrom(
    new Raw("1e999"),
    new Raw("-1e999"),
    new Raw("1e-999"),
    new Raw("123456789012345678901234567890"),
    new Raw('{"a":1,"a":2}'),
    new Raw('{"__proto__":{"polluted":true}}'),
    new Raw('"\\ud800"'),
    new Raw('"\\u0000"'),
    deep("[", "]", 2000),
    deep('{"a":[', "]}", 1000),
  ),
  fc.anything({ maxDepth: 3, withNullPrototype: true }).map(withoutCycles),
  fc.double(),
  fc.bigInt().map((value) => new Raw(String(value))),
  fc.string({ unit: "binary" }),
);

/** What JSON can hold of any value. */
function withoutCycles(value: unknown): unknown {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** Values that fit a schema, near enough to reach what stands behind it. */
export function fitting(schema: TSchema): Arbitrary<unknown> {
  switch (schema[Kind]) {
    case "Object":
      return objectOf(schema);
    case "Array":
      return fc.array(fitting(schema.items), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 3, Math.max(3, schema.minItems ?? 0)),
      });
    case "Union":
      return fc.oneof(...schema.anyOf.map(fitting));
    case "Intersect":
      return fc
        .tuple(...schema.allOf.map(fitting))
        .map((parts: unknown[]) => Object.assign({}, ...parts));
    case "Literal":
      return fc.constant(schema.const);
    case "String":
      return schema.pattern === undefined
        ? fc.string({ minLength: schema.minLength ?? 0, maxLength: 40 })
        : fc.stringMatching(new RegExp(schema.pattern));
    case "Integer":
      return smallInteger(schema.minimum ?? -10, schema.maximum ?? 5);
    case "Number":
      return fc.double({ min: schema.minimum ?? -10, max: schema.maximum ?? 10, noNaN: true });
    case "Boolean":
      return fc.boolean();
    case "Null":
      return fc.constant(null);
    case "Record":
      return fc.dictionary(fc.string({ maxLength: 8 }), hostileValues, { maxKeys: 3 });
    default:
      return hostileValues;
  }
}

function objectOf(schema: TSchema): Arbitrary<unknown> {
  const entries = Object.entries<TSchema>(schema.properties);
  const required = entries.filter(([, part]) => part[OptionalKind] === undefined);
  const optional = entries.filter(([, part]) => part[OptionalKind] !== undefined);
  const all = (parts: [string, TSchema][]) =>
    fc.record(Object.fromEntries(parts.map(([name, part]) => [name, fitting(part)])));
  return fc
    .tuple(
      all(required),
      fc.subarray(optional, { maxLength: Math.min(4, optional.length) }).chain(all),
    )
    .map(([must, may]) => ({ ...must, ...may }));
}

/** A value with one thing in it replaced, removed or added. */
export function broken(value: Arbitrary<unknown>): Arbitrary<unknown> {
  return fc
    .tuple(value, fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), hostileValues, fc.nat(3))
    .map(([whole, turns, hostile, how]) => change(whole, turns, hostile, how));
}

function change(value: unknown, turns: readonly number[], hostile: unknown, how: number): unknown {
  const [turn, ...rest] = turns;
  if (turn === undefined || typeof value !== "object" || value === null) return hostile;
  if (value instanceof Raw) return hostile;
  if (Array.isArray(value)) {
    if (value.length === 0) return [hostile];
    const at = turn % value.length;
    return value.map((item, index) => (index === at ? change(item, rest, hostile, how) : item));
  }
  const keys = Object.keys(value);
  const key = keys[turn % Math.max(1, keys.length)];
  if (key === undefined || how === 0) return { ...value, [`__proto__${turn % 3}`]: hostile };
  const entries = Object.entries(value);
  if (how === 1 && rest.length === 0) {
    return Object.fromEntries(entries.filter(([name]) => name !== key));
  }
  return Object.fromEntries(
    entries.map(([name, part]) => [name, name === key ? change(part, rest, hostile, how) : part]),
  );
}

/** The value as a body; raw parts stand as they are. */
export function toText(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(toText).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const parts = Object.entries(value).map(
      ([key, part]) => `${JSON.stringify(key)}:${toText(part)}`,
    );
    return `{${parts.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** Bytes that are no JSON at all, or not quite. */
export const brokenBytes = (body: Arbitrary<string>): Arbitrary<Uint8Array<ArrayBuffer>> =>
  fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => new Uint8Array(bytes)),
    fc.tuple(body, fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
      const bytes = new TextEncoder().encode(text);
      if (bytes.length > 0) bytes[at % bytes.length] = byte;
      return bytes;
    }),
    fc
      .tuple(body, fc.nat())
      .map(([text, at]) => new TextEncoder().encode(text).slice(0, at % (text.length + 1))),
    fc
      .constantFrom("[", "{", '{"a":')
      .map((open) => new TextEncoder().encode(open.repeat(100_000))),
    body.map((text) => new TextEncoder().encode(`\ufeff${text}`)),
    body.map((text) => new TextEncoder().encode(`${text}${text}`)),
    body.map((text) => new TextEncoder().encode(text.replace("{", '{"model":"other","model":7,'))),
  );

export const contentTypes: Arbitrary<string> = fc.constantFrom(
  "application/json",
  "application/json; charset=utf-8",
  "application/json;charset=utf-16",
  "APPLICATION/JSON",
  "text/plain",
  "text/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/octet-stream",
  "application/json, text/plain",
  "application/vnd.api+json",
  "",
  "*/*",
  "application/json; ; ;=",
);

/** Small, so that no answer is long; or as small as it may be. */
const smallInteger = (least: number, most: number): Arbitrary<number> =>
  fc.integer({ min: least, max: Math.max(least, Math.min(most, 5)) });
