/** The types of JSON values, and those that a schema means without naming them. */
import type { Kind } from "./readings.ts";
import type { SchemaObject } from "./schema-merge.ts";

/** The kind of a value that is given as JSON. */
export function kindOf(json: string): Kind {
  const kinds: Readonly<Record<string, Kind>> = {
    "{": "object",
    "[": "array",
    '"': "string",
    t: "boolean",
    f: "boolean",
    n: "null",
  };
  return kinds[json.charAt(0)] ?? "number";
}

const impliedTypes: Readonly<Record<string, readonly string[]>> = {
  object: [
    "properties",
    "additionalProperties",
    "unevaluatedProperties",
    "required",
    "minProperties",
    "maxProperties",
  ],
  array: ["items", "prefixItems", "minItems", "maxItems", "uniqueItems"],
  string: ["pattern", "format", "minLength", "maxLength"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
};

/** The type that a schema means without saying it; other types would be free of its keywords. */
export function impliedType(schema: SchemaObject): string | undefined {
  return Object.entries(impliedTypes).find(([, keywords]) =>
    keywords.some((keyword) => keyword in schema),
  )?.[0];
}
