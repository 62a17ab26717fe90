/** Says which fields of a request the node does not act on: in the answer's header, and in the log. */
import type { TSchema } from "@sinclair/typebox";
import type { Log } from "../../core/log.ts";
import type { RequestContext } from "../request-context.ts";

export const ignoredHeader = "x-paddock-ignored";

/** The names of the keys that are not among the known ones; a key that is null counts as absent. */
export function unknownKeys(value: object, known: Iterable<string>): string[] {
  const names = new Set(known);
  return Object.entries(value)
    .filter(([key, content]) => content !== null && !names.has(key))
    .map(([key]) => key);
}

/** The place of a field in what stands at a place: `stream_options.speed`. */
export const under = (place: string) => (name: string) => `${place}.${name}`;

/**
 * The places of fields that a schema does not know, at any depth: `ranking_options.speed`. Of a union
 * every variant's fields are known, and where pairs may have any name, all are.
 */
export function unknownFields(schema: TSchema, value: unknown, place = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  const variants: TSchema[] = Array.isArray(schema.anyOf) ? schema.anyOf : [schema];
  if (Array.isArray(value)) {
    const items: unknown = variants.find(({ type }) => type === "array")?.items;
    return isSchema(items)
      ? value.flatMap((item, at) => unknownFields(items, item, `${place}[${at}]`))
      : [];
  }
  const known = new Map<string, TSchema>();
  for (const { properties } of variants) {
    for (const [name, property] of Object.entries<TSchema>(properties ?? {})) {
      if (!known.has(name)) known.set(name, property);
    }
  }
  if (known.size === 0) return [];
  return Object.entries(value).flatMap(([name, content]) => {
    const property = known.get(name);
    const at = place === "" ? name : `${place}.${name}`;
    if (property !== undefined) return unknownFields(property, content, at);
    return content === null ? [] : [at];
  });
}

const isSchema = (value: unknown): value is TSchema => typeof value === "object" && value !== null;

/** Says it beside what was said of the request before. */
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

/** What each log was told already: an agent sends the same fields in every turn. */
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

/** The names as a header value, whatever characters the caller put into them. */
function toHeaderValue(names: readonly string[]): string {
  const safe = names
    .slice(0, mostNamed)
    .map((name) => name.slice(0, 64).replace(/[^\w.[\]-]/g, "?"));
  const rest = names.length - safe.length;
  return [...safe, ...(rest > 0 ? [`and ${rest} more`] : [])].join(", ");
}
