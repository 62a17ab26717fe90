/** Examples of an operation's fields, and the walk through them: each is as its class says. */
import { describe, expect, test } from "bun:test";
import type { DescribedField } from "../../scripts/docs/described-fields.ts";

export type FieldExample = readonly [field: string, use: DescribedField["use"], value: unknown];

/** Of the fields that every API that generates has. */
export const samplingExamples: readonly FieldExample[] = [
  ["temperature", "honoured", 0.2],
  ["top_p", "honoured", 0.5],
  ["top_k", "honoured", 40],
  ["min_p", "honoured", 0.05],
  ["presence_penalty", "honoured", 1],
  ["frequency_penalty", "honoured", 1],
  ["repeat_penalty", "honoured", 1.3],
  ["repeat_last_n", "honoured", 64],
  ["dry_multiplier", "honoured", 0.8],
  ["dry_base", "honoured", 2],
  ["dry_allowed_length", "honoured", 4],
];

/** A request whose field has the value, the same without the field, and the field's name on the wire. */
export interface FieldRequests {
  with: object;
  without: object;
  as: string;
}

export interface FieldOutcome {
  ignored: string | null;
  seen: { status: number; asked: unknown; text: string };
}

interface Walk {
  /** What the examples are of. */
  called: string;
  examples: readonly FieldExample[];
  /** What the schema says. */
  described: readonly DescribedField[];
  requestsWith: (field: string, value: unknown) => FieldRequests;
  /** What comes of a request: the status, what the engine was asked, and the answer but for ids and times. */
  outcome: (body: object) => Promise<FieldOutcome>;
  /** Expects that a request is rejected for the field. */
  expectRejection: (body: object, as: string) => Promise<void>;
  /** Whether an ignored field's value may come back in the answer. */
  repeatsIgnored?: boolean;
  /** A field whose value does not matter to the engine. */
  isAlike?: (field: string) => boolean;
}

export const omit = (value: object, key: string): object =>
  Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));

/** A copy of the body with the value at the end of the steps; without that field if it is undefined. */
export function changed<Body extends object>(
  body: Body,
  steps: readonly (string | number)[],
  value: unknown,
): Body {
  const copy = structuredClone(body);
  let at: unknown = copy;
  for (const step of steps.slice(0, -1)) at = Reflect.get(Object(at), step);
  const last = steps.at(-1) ?? "";
  if (value === undefined) Reflect.deleteProperty(Object(at), last);
  else Reflect.set(Object(at), last, value);
  return copy;
}

/** Rows for `test.each`, whose values are shown as JSON. */
export const rowsOf = (examples: readonly FieldExample[], wanted: FieldExample[1]) =>
  examples.flatMap(([field, use, value]) =>
    use === wanted ? [{ field, value, example: JSON.stringify(value) }] : [],
  );

export function walkFields(walk: Walk): void {
  const { called, examples, described, requestsWith, outcome, expectRejection } = walk;
  const { repeatsIgnored = false, isAlike = () => false } = walk;
  const both = async (field: string, value: unknown) => {
    const requests = requestsWith(field, value);
    const { ignored, seen } = await outcome(requests.with);
    expect(seen).toMatchObject({ status: 200 });
    return { as: requests.as, ignored, seen, without: (await outcome(requests.without)).seen };
  };
  const each = (use: FieldExample[1], name: string, body: (row: Row) => Promise<void>) => {
    const rows = rowsOf(examples, use);
    if (rows.length > 0) test.each(rows)(name, body);
  };

  describe(`a field of ${called}`, () => {
    each("honoured", "is honoured: $field $example", async ({ field, value }) => {
      const { ignored, seen, without } = await both(field, value);
      expect(ignored).toBeNull();
      if (!isAlike(field)) expect(seen).not.toEqual(without);
    });

    each("accepted", "is accepted: $field $example", async ({ field, value }) => {
      const { ignored, seen, without } = await both(field, value);
      expect(ignored).toBeNull();
      expect(seen).toEqual(without);
    });

    each("ignored", "is ignored and named: $field $example", async ({ field, value }) => {
      const { as, ignored, seen, without } = await both(field, value);
      expect(ignored).toBe(as);
      if (repeatsIgnored) expect(seen.asked).toEqual(without.asked);
      else expect(seen).toEqual(without);
    });

    each("rejected", "is rejected: $field $example", async ({ field, value }) => {
      const requests = requestsWith(field, value);
      await expectRejection(requests.with, requests.as);
    });

    test("has an example of what the schema says of it", () => {
      expect(withoutExample(described, examples)).toEqual([]);
    });
  });
}

interface Row {
  field: string;
  value: unknown;
}

/** The fields that the schema says something of besides that they are honoured, and no example shows. */
export const withoutExample = (
  described: readonly DescribedField[],
  examples: readonly FieldExample[],
): string[] =>
  described
    .filter(({ use }) => use !== "honoured")
    .filter(({ path, use }) => !examples.some(([field, of]) => of === use && shows(field, path)))
    .map(({ path, use }) => `${use} ${path}`);

/** An example of a field shows it in whatever holds it, for blocks of any type; or within its whole. */
const shows = (field: string, path: string): boolean => {
  const whole = path.replace(/(\[\]|\.\w+)$/, "");
  return [path, plain(path), whole].some((way) =>
    [field, plain(field)].some((shown) => `.${way}`.endsWith(`.${shown}`)),
  );
};

const plain = (path: string): string => path.replace(/\[\w+\]/g, "[]");

/** Which of the fields that a client's types know no schema names. */
export function unnamed(described: readonly DescribedField[], fields: readonly string[]): string[] {
  const named = new Set(described.map(({ path }) => path));
  return fields.filter((field) => !named.has(field));
}

/** The names of an exported interface's own properties, which may be inside a namespace: `Outer.Inner`. */
export function propertiesOf(types: string, name: string): string[] {
  const indent = name.includes(".") ? 8 : 4;
  const property = new RegExp(`^ {${indent}}(\\w+)\\??:`, "gm");
  return [...interfaceOf(types, name).matchAll(property)].map(([, field = ""]) => field);
}

/** The text of an interface. */
export function interfaceOf(types: string, name: string): string {
  const [outer = "", inner] = name.split(".");
  const space = new RegExp(`^export declare namespace ${outer} \\{\\n(.*?)^\\}`, "ms");
  const within = inner === undefined ? types : (space.exec(types)?.[1] ?? "");
  const indent = inner === undefined ? "" : " {4}";
  const start = inner === undefined ? `export interface ${outer}` : `interface ${inner}`;
  const found = new RegExp(`^${indent}${start}[^{\\n]*\\{\\n(.*?)^${indent}\\}`, "ms").exec(within);
  if (found?.[1] === undefined) throw new Error(`The types have no ${name}`);
  return found[1];
}
