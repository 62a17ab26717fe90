/** Finds the fields of a request that the node ignores, and names them in a header and the log. */
import { KindGuard, type TObject, type TSchema } from "@sinclair/typebox";
import type { Log } from "../../core/log.ts";
import type { RequestContext } from "../request-context.ts";
import { type FieldUse, isUnexamined, readingOf, refuse, useOf } from "../wire/fields.ts";

export const ignoredHeader = "x-paddock-ignored";

/** `at`: the path of a valid value; `parent`: the object it is in; `found`: the paths so far. */
type Examine = (value: unknown, at: string, parent: object, found: string[]) => void;

/**
 * Finds fields that a schema does not know or ignores, by path: `ranking_options.speed`.
 * Throws if a field is rejected. A field that is null counts as absent.
 */
export function fieldExaminer(schema: TSchema): (body: unknown) => string[] {
  const examine = examinerOf(schema);
  return (body) => {
    const found: string[] = [];
    examine?.(body, "", {}, found);
    return found;
  };
}

/** Built once per schema, since lists may be as long as a body; undefined: nothing to find. */
function examinerOf(schema: TSchema): Examine | undefined {
  const use = useOf(schema);
  if (use !== undefined) return byUse(use);
  const { objects, items, values, others } = new Forms(schema);
  if (objects.length === 0 && items === undefined && values.size === 0) return undefined;
  return (value, at, parent, found) => {
    if (Array.isArray(value)) {
      if (items === undefined) return;
      for (const [index, item] of value.entries()) items(item, `${at}[${index}]`, value, found);
    } else if (typeof value === "object" && value !== null) {
      const object = objects.find(({ isMeant }) => isMeant(value));
      if (object !== undefined) object.examine(value, at, parent, found);
      else if (others === "ignored") found.push(at);
    } else {
      values.get(value)?.(value, at, parent, found);
    }
  };
}

const byUse =
  ({ kind, why, unless = () => false }: FieldUse): Examine =>
  (value, at, parent, found) => {
    if (kind === "accepted" || unless(value, parent)) return;
    if (kind === "rejected") throw refuse(at, why);
    found.push(at);
  };

/** The forms of a value that may contain ignored or rejected fields. */
class Forms {
  readonly objects: ExaminedObject[] = [];
  items: Examine | undefined;
  readonly values = new Map<unknown, Examine>();
  /** What happens to an object that matches none of these. */
  others: "unsaid" | "ignored" = "unsaid";

  constructor(schema: TSchema) {
    this.#add(schema);
  }

  #add(schema: TSchema): void {
    const use = useOf(schema);
    const reading = readingOf(schema);
    if (isUnexamined(schema)) return;
    if (reading !== undefined) {
      this.others = reading.others;
      this.#add(reading.schema);
    } else if (KindGuard.IsUnion(schema)) {
      for (const variant of schema.anyOf) this.#add(variant);
    } else if (KindGuard.IsObject(schema)) {
      this.objects.push(objectOf(schema));
    } else if (KindGuard.IsArray(schema)) {
      this.items ??= examinerOf(schema.items);
    } else if (KindGuard.IsLiteral(schema) && use !== undefined) {
      this.values.set(schema.const, byUse(use));
    }
  }
}

interface ExaminedObject {
  /** Whether a value is of this variant, by its required, literal and forbidden properties. */
  isMeant(value: object): boolean;
  examine: Examine;
}

function objectOf({ properties, required = [] }: TObject): ExaminedObject {
  const known = new Map(
    Object.entries(properties).map(([name, property]) => {
      const use = useOf(property);
      return [name, { own: use && byUse(use), within: examinerOf(property) }];
    }),
  );
  const told = Object.entries(properties).filter(
    ([, property]) => KindGuard.IsLiteral(property) || KindGuard.IsNever(property),
  );
  return {
    isMeant: (value) =>
      told.every(([name, property]) => {
        const found: unknown = Reflect.get(value, name) ?? undefined;
        return found === undefined ? !required.includes(name) : found === property.const;
      }) && required.every((name) => name in value),
    examine(value, at, _, found) {
      const object = Object(value);
      const inner = at === "" ? "" : `${at}.`;
      const within: [Examine, unknown, string][] = [];
      for (const [name, content] of Object.entries(object)) {
        if (content === null) continue;
        const field = known.get(name);
        if (field === undefined) found.push(inner + name);
        else if (field.own !== undefined) field.own(content, inner + name, object, found);
        else if (field.within !== undefined) within.push([field.within, content, inner + name]);
      }
      for (const [examine, content, place] of within) examine(content, place, object, found);
    },
  };
}

export function announceIgnored(
  names: readonly string[],
  { id, headers }: Pick<RequestContext, "id" | "headers">,
  log: Log,
): void {
  if (names.length === 0) return;
  const ignored = toHeaderValue(names);
  const before = headers[ignoredHeader];
  headers[ignoredHeader] = before === undefined ? ignored : `${before}, ${ignored}`;
  const level = isNew(ignored, log) ? "info" : "debug";
  log[level]("a request has fields that are not acted on", { id, ignored });
}

/** What each log already has: an agent sends the same fields in every turn. */
const told = new WeakMap<Log, Set<string>>();
const mostRemembered = 256;

function isNew(ignored: string, log: Log): boolean {
  const before = told.get(log) ?? new Set();
  told.set(log, before);
  if (before.has(ignored)) return false;
  if (before.size < mostRemembered) before.add(ignored);
  return true;
}

const mostNamed = 32;

/** The names as a valid header value, whatever characters they contain. */
function toHeaderValue(names: readonly string[]): string {
  const safe = names
    .slice(0, mostNamed)
    .map((name) => name.slice(0, 64).replace(/[^\w.[\]-]/g, "?"));
  const rest = names.length - safe.length;
  return [...safe, ...(rest > 0 ? [`and ${rest} more`] : [])].join(", ");
}
