/** What stands behind the `?` of an address, as the values that its schema asks for. */
import type { Static, TObject } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { refuse } from "../wire/refuse.ts";
import { invalid } from "./validation.ts";

export interface ReadQuery<Query> {
  query: Query;
  /** Names that the schema does not know. */
  ignored: string[];
}

/** A parameter that is left empty counts as absent. */
export function queryReader<Query extends TObject>(
  schema: Query,
): (asked: URLSearchParams) => ReadQuery<Static<Query>> {
  const checker = TypeCompiler.Compile(schema);
  const known = new Map(Object.entries(schema.properties));
  return (asked) => {
    const query: Record<string, unknown> = {};
    for (const [name, text] of asked) {
      const property = known.get(name);
      if (property === undefined || text === "") continue;
      if (name in query) throw refuse(name, "stands more than once in the address");
      query[name] = property.type === "integer" ? toInteger(text) : text;
    }
    if (!checker.Check(query)) throw invalid(schema, query);
    return { query, ignored: [...new Set(asked.keys())].filter((name) => !known.has(name)) };
  };
}

/** Its number; else the text, for the schema to refuse. */
const toInteger = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);
