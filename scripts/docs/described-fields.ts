/** The fields of a request as its schema describes them: what each may be, and what the node does with it. */
import { KindGuard, type TObject, type TSchema } from "@sinclair/typebox";
import { type FieldUse, isUnexamined, readingOf, useOf } from "../../src/server/wire/fields.ts";
import { describeSchema } from "../../src/validation/violation.ts";

export interface DescribedField {
  /** `messages[].role`; where the fields of an object depend on its type: `tools[function].strict`. */
  path: string;
  use: "honoured" | FieldUse["kind"];
  /** What it may be, for a person; empty where that does not matter. */
  value: string;
  text: string;
  /** Whether it only says which of several objects it is. */
  isTag: boolean;
}

export function describedFields(schema: TSchema): DescribedField[] {
  // Variants of an object have fields in common; what one honours, another may accept.
  const unique = new Map(inside(schema, "").map((field) => [JSON.stringify(field), field]));
  const fields = [...unique.values()];
  const honoured = new Set(fields.filter(({ use }) => use === "honoured").map(({ path }) => path));
  return fields.filter(({ use, path }) => use !== "accepted" || !honoured.has(path));
}

function inside(schema: TSchema, path: string): DescribedField[] {
  const reading = readingOf(schema);
  if (isUnexamined(schema) || useOf(schema) !== undefined) return [];
  if (reading !== undefined) {
    const list = path.replace(/\[\]$/, "");
    return variantsOf(reading.schema).flatMap((variant) =>
      inside(variant, `${list}[${variant.properties?.type?.const}]`),
    );
  }
  if (KindGuard.IsUnion(schema)) return schema.anyOf.flatMap((variant) => inside(variant, path));
  if (KindGuard.IsArray(schema)) {
    const at = `${path}[]`;
    return [...valuesOf(schema.items, at), ...inside(schema.items, at)];
  }
  return KindGuard.IsObject(schema) ? fieldsOf(schema, path) : [];
}

const fieldsOf = ({ properties }: TObject, path: string): DescribedField[] =>
  Object.entries(properties)
    .filter(([, property]) => !KindGuard.IsNever(property))
    .flatMap(([name, property]) => {
      const at = path === "" ? name : `${path}.${name}`;
      return [described(property, at), ...valuesOf(property, at), ...inside(property, at)];
    });

function described(schema: TSchema, path: string): DescribedField {
  const variants = variantsOf(schema);
  // What becomes of a field may be said inside of what lets it be null.
  const use = useOf(schema) ?? (variants.length === 1 ? useOf(variants[0] ?? schema) : undefined);
  const isLiteral = KindGuard.IsLiteral(schema);
  if (use === undefined) {
    const text = textOf(schema);
    return {
      path,
      use: "honoured",
      value: wordsFor(schema),
      text,
      isTag: isLiteral && text === "",
    };
  }
  const { kind, why, except } = use;
  const others = except === undefined ? "" : `all but ${except}`;
  const text = kind === "rejected" ? `It ${why}.` : why;
  return { path, use: kind, value: isLiteral ? wordsFor(schema) : others, text, isTag: false };
}

/** Values among others that have words of their own. */
const valuesOf = (schema: TSchema, path: string): DescribedField[] =>
  variantsOf(schema)
    .filter((variant) => variant !== schema && KindGuard.IsLiteral(variant))
    .map((literal) => described(literal, path))
    .filter(({ isTag }) => !isTag);

/** Without null, which counts as absent. */
const variantsOf = (schema: TSchema): TSchema[] => {
  if (KindGuard.IsNull(schema)) return [];
  return KindGuard.IsUnion(schema) ? schema.anyOf.flatMap(variantsOf) : [schema];
};

function wordsFor(schema: TSchema): string {
  const said: unknown = schema["x-expected"];
  const nested: TSchema[] = KindGuard.IsUnion(schema)
    ? schema.anyOf.filter((variant) => !KindGuard.IsNull(variant))
    : [schema];
  const words = typeof said === "string" ? said : nested.map(describeSchema).join(" or ");
  return words.replace(/'([^' ]*)'/g, "`$1`");
}

/** Its own description, or that of what it holds; and the default, unless the words have it. */
function textOf(schema: TSchema): string {
  const said = [schema, ...(schema.anyOf ?? [])].find(({ description }) => description);
  const text: string = said?.description ?? "";
  const fallback: unknown = schema.default;
  if (fallback === undefined || /default/i.test(text)) return text;
  return `${text} Default: \`${JSON.stringify(fallback)}\`.`.trim();
}
