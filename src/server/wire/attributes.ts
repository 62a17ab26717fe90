/** Schemas of file attributes, metadata and search filters. */
import { Type as T } from "@sinclair/typebox";
import type { AttributeFilter } from "../../core/documents/records.ts";
import { quoted, shortened } from "../../core/quoted.ts";
import { nonEmpty, oneOf, openObject, refuse, unexamined } from "./fields.ts";

const most = { pairs: 16, key: 64, text: 512, depth: 8, filters: 64, values: 256, stores: 16 };

export const Metadata = T.Record(T.String(), T.String({ maxLength: most.text }), {
  maxProperties: most.pairs,
  description: `At most ${most.pairs} pairs: names of at most ${most.key} characters, texts of at most ${most.text}.`,
});

export const Attributes = T.Record(
  T.String(),
  T.Union([T.String({ maxLength: most.text }), T.Number(), T.Boolean()], {
    "x-expected": `a text of at most ${most.text} characters, a number, or true or false`,
  }),
  {
    maxProperties: most.pairs,
    description: `For filters. At most ${most.pairs} pairs: names of at most ${most.key} characters; texts of at most ${most.text}, numbers, or true or false.`,
  },
);

/** Attributes in an answer: those of a request, without its limits. */
export const ShownAttributes = T.Record(
  T.String(),
  T.Union([T.String(), T.Number(), T.Boolean()]),
  { description: "For filters." },
);

/** Returns the pairs; rejects a name that is empty or too long. */
export function checkedPairs<Pairs extends Readonly<Record<string, unknown>>>(
  pairs: Pairs,
  field: string,
): Pairs {
  const name = Object.keys(pairs).find((key) => key === "" || key.length > most.key);
  if (name === undefined) return pairs;
  throw refuse(
    field,
    `has a name of ${name.length} characters, ${quoted(name)}; it may have 1 to ${most.key}`,
  );
}

const comparisons = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;
const lists = ["in", "nin"] as const;
const compounds = ["and", "or"] as const;
const types: readonly string[] = [...comparisons, ...lists, ...compounds];

/** OpenAI's filters; `toFilter` checks what the schema does not. */
export const Filter = unexamined(
  openObject(
    {
      type: oneOf(types),
      key: T.Optional(T.String()),
      value: T.Optional(T.Unknown()),
      filters: T.Optional(T.Array(T.Unknown())),
    },
    {
      description: `Which files to search, by their attributes: \`{"type": "eq", "key": "language", "value": "de"}\`. Types: \`eq\`, \`ne\`, \`gt\`, \`gte\`, \`lt\`, \`lte\`; \`in\` and \`nin\` with a list; \`and\` and \`or\` with a list of \`filters\`. At most ${most.filters} filters, ${most.depth} levels deep. A file without the attribute matches only \`ne\` and \`nin\`.`,
    },
  ),
);

/** `at`: the filter's path; `left`: how many more there may be, in all levels together. */
export function toFilter(
  value: unknown,
  at: string,
  depth = 1,
  left = { filters: most.filters },
): AttributeFilter {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuse(at, "must be an object with a 'type'");
  }
  if (depth > most.depth) throw refuse(at, `lies more than ${most.depth} levels deep`);
  if (--left.filters < 0) throw refuse(at, `is one of more than ${most.filters} filters`);
  const { type, key, value: wanted, filters, ...rest }: Record<string, unknown> = { ...value };
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw refuse(
      `${at}.${shortened(unknown)}`,
      "is not known here; a filter has 'type', 'key' and 'value', or 'type' and 'filters'",
    );
  }
  const compound = compounds.find((known) => known === type);
  if (compound !== undefined) {
    if (!Array.isArray(filters) || filters.length === 0) {
      throw refuse(`${at}.filters`, "must be a list of at least one filter");
    }
    if (filters.length > left.filters) {
      throw refuse(
        `${at}.filters`,
        `has ${filters.length} filters; at most ${most.filters} may be`,
      );
    }
    const read = (part: unknown, index: number): AttributeFilter =>
      toFilter(part, `${at}.filters[${index}]`, depth + 1, left);
    return { type: compound, filters: filters.map(read) };
  }
  if (typeof key !== "string" || key === "" || key.length > most.key) {
    throw refuse(`${at}.key`, `must be the name of an attribute, of 1 to ${most.key} characters`);
  }
  const list = lists.find((known) => known === type);
  if (list !== undefined) {
    if (!Array.isArray(wanted) || wanted.length === 0 || wanted.length > most.values) {
      throw refuse(`${at}.value`, `must be a list of 1 to ${most.values} texts or numbers`);
    }
    const values = wanted.map((item, index) => scalar(item, `${at}.value[${index}]`));
    return { type: list, key, values: new Set(values) };
  }
  const comparison = comparisons.find((known) => known === type);
  if (comparison !== undefined) {
    return { type: comparison, key, value: scalar(wanted, `${at}.value`) };
  }
  const found = typeof type === "string" ? `; found ${quoted(type)}` : "";
  throw refuse(`${at}.type`, `must be one of ${types.join(", ")}${found}`);
}

function scalar(value: unknown, at: string): string | number | boolean {
  // JSON has no infinity, but 1e400 becomes one.
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "boolean") return value;
  if (typeof value === "string" && value.length <= most.text) return value;
  throw refuse(at, `must be a text of at most ${most.text} characters, a number, or true or false`);
}

/** Vector stores that are searched together; each one is a separate search. */
export const StoreReferences = T.Array(nonEmpty, { minItems: 1, maxItems: most.stores });
