/** What stands behind the `?` of an address, as the values that its schema asks for. */
import type { Static, TObject } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { refuse } from "../wire/refuse.ts";
import { fieldExaminer } from "./ignored-fields.ts";
import { invalid } from "./validation.ts";

export interface ReadQuery<Query> {
  query: Query;
  /** Names that the schema does not know, and what it says to be ignored. */
  ignored: () => string[];
}

/** A parameter that is left empty counts as absent; a list may be written `name=a&name=b`, with `[]` behind the name. */
export function queryReader<Query extends TObject>(
  schema: Query,
): (asked: URLSearchParams) => ReadQuery<Static<Query>> {
  const checker = TypeCompiler.Compile(schema);
  const examine = fieldExaminer(schema);
  const known = new Map(Object.entries(schema.properties));
  const isList = (name: string): boolean => known.get(name)?.type === "array";
  /** `include` of `include[]` and `include[0]`, where that is a list. */
  const nameOf = (written: string): string => {
    const name = written.replace(/\[\d{0,3}\]$/, "");
    return isList(name) ? name : written;
  };
  return (asked) => {
    const query: Record<string, unknown> = {};
    const lists = new Map<string, string[]>();
    for (const [written, text] of asked) {
      const name = nameOf(written);
      const property = known.get(name);
      if (property === undefined || text === "") continue;
      if (isList(name)) {
        const list = lists.get(name) ?? [];
        lists.set(name, list);
        list.push(text);
        continue;
      }
      if (name in query) throw refuse(name, "stands more than once in the address");
      query[name] = property.type === "integer" ? toInteger(text) : text;
    }
    Object.assign(query, Object.fromEntries(lists));
    if (!checker.Check(query)) throw invalid(schema, query);
    const names = [...new Set(asked.keys())];
    const unknown = names.filter((name) => !known.has(nameOf(name)));
    return { query, ignored: () => [...unknown, ...examine(query)] };
  };
}

/** Its number; else the text, for the schema to refuse. */
const toInteger = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);
