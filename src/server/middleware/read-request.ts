/** Parses and validates a request's body and query. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { excessText, JsonSize, largeJson } from "../../core/json-size.ts";
import { quoted } from "../../core/quoted.ts";
import { Turns } from "../../core/turns.ts";
import { findViolation, formatPath, type Violation } from "../../validation/violation.ts";
import type { AskedFor, Operation, ReadRequest } from "../operation.ts";
import { refuse } from "../wire/fields.ts";
import { fieldExaminer } from "./ignored-fields.ts";

export async function readRequest<Services>(
  { facts, lists, read }: Pick<Operation<Services>, "facts" | "lists" | "read">,
  bytes: Uint8Array | undefined,
  asked: AskedFor,
  limits: ListLimits,
  caller: string,
): Promise<ReadRequest<Services>> {
  const body = bytes === undefined ? undefined : await parsed(bytes, caller);
  checkLists(body, lists, limits);
  const request = read(body, asked);
  if (request !== undefined) return request;
  throw invalid(facts.body?.schema, body);
}

/** The error for a value that breaks a schema; it names the field. */
export function invalid(schema: TSchema | undefined, body: unknown): NodeError {
  const violation = schema === undefined ? undefined : findViolation(schema, body);
  if (violation === undefined) return new NodeError("internal", "A body failed without a reason.");
  const param = violation.path.length > 0 ? formatPath(violation.path) : undefined;
  return new NodeError("invalid_request", messageOf(violation), given({ param }));
}

function messageOf({ path, kind, expected, found, knownKeys }: Violation): string {
  if (path.length === 0) return `The body must be ${expected}; found ${found}.`;
  const name = `'${formatPath(path)}'`;
  if (kind === "missing") return `${name} is required: ${expected}.`;
  if (kind === "unknown" && knownKeys.length === 0) {
    return `${name} is not allowed; '${formatPath(path.slice(0, -1))}' must be ${expected}.`;
  }
  if (kind === "unknown") return `${name} is not known here. Known are: ${knownKeys.join(", ")}.`;
  return `${name} must be ${expected}; found ${found}.`;
}

const largeBodies = new Turns();

async function parsed(bytes: Uint8Array, caller: string): Promise<unknown> {
  // JSON may be small in bytes but deep, or have too many values.
  const excess = await new JsonSize().addInSlices(bytes);
  if (excess !== undefined) {
    const { what, field: param } = excess;
    const subject = param === undefined ? "The body" : quoted(param);
    throw new NodeError("invalid_request", `${subject} ${excessText[what]}.`, given({ param }));
  }
  if (bytes.length > largeJson) await largeBodies.next(caller);
  const text = orInvalid("UTF-8", () => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (text.trim() === "") {
    throw new NodeError("invalid_request", "The body is empty; a JSON object is needed.");
  }
  return orInvalid("JSON", (): unknown => JSON.parse(text));
}

function orInvalid<Value>(format: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    throw new NodeError("invalid_request", `The body is not valid ${format}.`, { cause });
  }
}

export interface ListLimits {
  maxMessages: number;
  maxInputs: number;
}

export interface ListBound {
  param: string;
  limit: keyof ListLimits;
  /** Whether the limit applies to a list, by its first item; default: always. */
  isFor?: (first: unknown) => boolean;
}

const settings: Readonly<Record<keyof ListLimits, string>> = {
  maxMessages: "limits.max_messages",
  maxInputs: "limits.max_inputs",
};

/** Rejects lists that are too long, by their length alone, before any item is validated. */
function checkLists(body: unknown, bounds: readonly ListBound[], limits: ListLimits): void {
  for (const { param, limit, isFor = () => true } of bounds) {
    const list: unknown = Object(body)[param];
    const most = limits[limit];
    if (!Array.isArray(list) || list.length <= most || !isFor(list[0])) continue;
    throw refuse(
      param,
      `is a list of ${list.length}; this node takes at most ${most} (${settings[limit]})`,
    );
  }
}

/** Reads the query; without a schema nothing of it is known. Empty means absent; lists: `name=a&name=b`, `name[]=a`. */
export function queryReader<Query extends TObject>(
  schema: Query | undefined,
): (asked: URLSearchParams) => { query: Static<Query>; ignored: () => string[] } {
  const checker = schema && TypeCompiler.Compile(schema);
  const isValid = (query: unknown): query is Static<Query> => checker?.Check(query) ?? true;
  const examine = schema === undefined ? () => [] : fieldExaminer(schema);
  const known = new Map(Object.entries(schema?.properties ?? {}));
  const isList = (name: string): boolean => known.get(name)?.type === "array";
  /** `include` for `include[]` and `include[0]`, if it is a list. */
  const nameOf = (written: string): string => {
    const name = written.replace(/\[\d{0,3}\]$/, "");
    return isList(name) ? name : written;
  };
  return (asked) => {
    const sent = [...asked].filter(([, text]) => text !== "");
    const texts = Map.groupBy(sent, ([written]) => nameOf(written));
    const query: Record<string, unknown> = {};
    for (const [name, property] of known) {
      const [text, ...more] = texts.get(name)?.map(([, value]) => value) ?? [];
      if (text === undefined) continue;
      if (isList(name)) query[name] = [text, ...more];
      else if (more.length > 0) throw refuse(name, "stands more than once in the address");
      else query[name] = property.type === "integer" ? toInteger(text) : text;
    }
    if (!isValid(query)) throw invalid(schema, query);
    const unknown = [...new Set(asked.keys())].filter((name) => !known.has(nameOf(name)));
    return { query, ignored: () => [...unknown, ...examine(query)] };
  };
}

/** The number, or else the text, which the schema rejects. */
const toInteger = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);
