/** A schema without what a grammar cannot hold of it, for tools that are not strict. */
import { type Budget, OverBudget } from "./budget.ts";
import { JsonSchemaCompiler } from "./json-schema.ts";
import { GrammarRules } from "./rules.ts";
import { pointerSteps } from "./schema-pointer.ts";
import { Unholdable } from "./unholdable.ts";

/** So many parts are let go one by one; a schema with more is let go as a whole. */
const mostParts = 16;

/** `budget` is for all that is tried for one request. */
export function loosened(schema: object, param: string, budget: Budget): object {
  try {
    let loose = schema;
    for (let parts = 0; parts <= mostParts; parts++) {
      const refusal = refusalOf(loose, param, budget);
      if (refusal === undefined) return loose;
      loose = JSON.parse(budget.json(loose));
      if (!drop(loose, refusal.path)) break;
    }
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error;
  }
  return { type: "object" };
}

function refusalOf(schema: object, param: string, budget: Budget): Unholdable | undefined {
  try {
    new JsonSchemaCompiler(new GrammarRules(budget), schema, param).compile();
    return undefined;
  } catch (error) {
    if (error instanceof Unholdable) return error;
    throw error;
  }
}

/** Drops what lies at the path, or the last that lies on it; says whether there was something. */
function drop(schema: object, [first = "", ...rest]: readonly string[]): boolean {
  let parent = schema;
  let last: { parent: object; key: string; isProperty: boolean } | undefined;
  for (const key of [...(first.startsWith("#") ? pointerSteps(first) : [first]), ...rest]) {
    if (!Object.hasOwn(parent, key)) break;
    last = { parent, key, isProperty: last?.key === "properties" && !last.isProperty };
    const value: unknown = Reflect.get(parent, key);
    if (typeof value !== "object" || value === null) break;
    parent = value;
  }
  if (last === undefined) return false;
  // A property may still be there, and an item of a list keeps its place.
  if (last.isProperty || Array.isArray(last.parent)) return Reflect.set(last.parent, last.key, {});
  // What may not be there without them would be everything.
  const dropped =
    last.key === "properties" ? [last.key, "required", "additionalProperties"] : [last.key];
  for (const key of dropped) Reflect.deleteProperty(last.parent, key);
  return true;
}
