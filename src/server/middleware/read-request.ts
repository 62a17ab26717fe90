/** Reads and validates a request's body and query; an oversized one is rejected before parsing. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { untilAborted } from "../../core/abort.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import { quoted } from "../../core/quoted.ts";
import { Turns } from "../../core/turns.ts";
import { findViolation, formatPath, type Violation } from "../../validation/violation.ts";
import type { AskedFor, Operation, ReadRequest } from "../operation.ts";
import { refuse } from "../wire/fields.ts";
import { nextTurn } from "./answer.ts";
import { fieldExaminer } from "./ignored-fields.ts";

export async function readRequest<Services>(
  { facts, lists, read }: Pick<Operation<Services>, "facts" | "lists" | "read">,
  bytes: Uint8Array | undefined,
  asked: AskedFor,
  limits: ListLimits,
): Promise<ReadRequest<Services>> {
  const body = bytes === undefined ? undefined : await parsed(bytes);
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

async function parsed(bytes: Uint8Array): Promise<unknown> {
  // JSON may be small in bytes but deep, or have too many values.
  const excess = await new JsonSize().addInSlices(bytes);
  if (excess !== undefined) {
    const { what, field: param } = excess;
    const subject = param === undefined ? "The body" : quoted(param);
    throw new NodeError("invalid_request", `${subject} ${excessText[what]}.`, given({ param }));
  }
  if (bytes.length > sliceBytes) await largeBodies.next();
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

export interface BodyLimits {
  maxBodyBytes: number;
  bodyTimeoutMs: number;
}

/** What a request holds in memory besides its own few fields. */
export interface HeldBytes extends Disposable {
  /** Throws if there is no room for more. */
  add(bytes: number): void;
}

/** Bytes that all requests in progress hold: their bodies, and what was read for them. */
export class RequestMemory {
  readonly #most: () => number;
  readonly #ofCallers = new Map<string, number>();
  #held = 0;

  /** `most` may change while requests are answered. */
  constructor(most: () => number) {
    this.#most = most;
  }

  get held(): number {
    return this.#held;
  }

  /** Counts until it is disposed of; the beginning is free, so that short requests always get in. */
  begin(caller: string): HeldBytes {
    let all = 0;
    let counted = 0;
    return {
      add: (bytes) => {
        all += bytes;
        const more = Math.max(0, all - freeBytes) - counted;
        if (more <= 0) return;
        // A caller never holds more than it leaves to others.
        const own = (this.#ofCallers.get(caller) ?? 0) + more;
        if (own > this.#most() - this.#held - more) {
          const why =
            "Other requests in progress take all the memory for large bodies and images. Try again later.";
          throw new NodeError("overloaded", why);
        }
        counted += more;
        this.#held += more;
        this.#ofCallers.set(caller, own);
      },
      [Symbol.dispose]: () => {
        this.#held -= counted;
        const left = (this.#ofCallers.get(caller) ?? 0) - counted;
        if (left > 0) this.#ofCallers.set(caller, left);
        else this.#ofCallers.delete(caller);
        counted = 0;
      },
    };
  }
}

const freeBytes = 64 * 1024;

/** Of the largest bodies; half of them for a lone caller. */
export const mostLargeBodies = 32;

/** The complete body; rejects one that is not `application/json`, too large or too late. */
export async function readBody(
  request: Request,
  limits: BodyLimits,
  held: Pick<HeldBytes, "add">,
  { takesAnyType = false }: { takesAnyType?: boolean } = {},
): Promise<Uint8Array> {
  const { maxBodyBytes: maxBytes } = limits;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json" && !takesAnyType) {
    throw new NodeError(
      "unsupported_media_type",
      `The body must be JSON, sent with 'Content-Type: application/json'; found ${type ? `'${type}'` : "no content type"}.`,
    );
  }
  const tooLarge = new NodeError(
    "payload_too_large",
    `The body is larger than the ${maxBytes} bytes that this node takes.`,
  );
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of inTime(request.body, limits.bodyTimeoutMs)) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge;
    held.add(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Chunks that are read in a turn of the loop. What comes until the next turn is one chunk, however small its parts were sent. */
export const mostInTurn = 16;

/** The chunks, within a time limit for the whole body, so that a trickle is late too. */
async function* inTime(
  body: ReadableStream<Uint8Array> | null,
  ms: number,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  const late = new AbortController();
  const overdue = `The body did not arrive within the ${ms / 1000} s that this node waits for it (limits.body_timeout).`;
  const timer = setTimeout(() => late.abort(new NodeError("body_timeout", overdue)), ms);
  try {
    for (let read = 1; ; read++) {
      if (read % mostInTurn === 0) await nextTurn();
      const { done, value } = await untilAborted(reader.read(), late.signal);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // Drops the rest of the body; does nothing after its end.
    reader.cancel().catch(() => {});
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

/** Reads the query, if it has a schema. Empty means absent; lists: `name=a&name=b`, `name[]=a`. */
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
    const names = schema === undefined ? [] : [...new Set(asked.keys())];
    const unknown = names.filter((name) => !known.has(nameOf(name)));
    return { query, ignored: () => [...unknown, ...examine(query)] };
  };
}

/** The number, or else the text, which the schema rejects. */
const toInteger = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

/** The deepest nesting allowed: later code walks the value recursively. */
export const deepestNesting = 256;
/** Values of any type; more than the token ids of a thousand long texts. */
export const mostValues = 1_000_000;
/** Properties of objects; each costs ten times as much as a list item. */
export const mostKeys = 100_000;

interface JsonExcess {
  what: "nesting" | "values" | "keys";
  field: string | undefined;
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

const longText = 64;

/** Bytes scanned before other requests get a turn: a few milliseconds. */
const sliceBytes = 1 << 20;

interface Scan {
  json: Uint8Array;
  at: number;
  depth: number;
  /** Start and end of the last string in the top-level object. */
  from: number;
  to: number;
  /** The last string that was a field's name. */
  field?: Uint8Array;
}

/** Counts values in JSON without parsing it; in total, so many small texts cannot evade limits. */
export class JsonSize {
  #values = 0;
  #keys = 0;

  /** Counts one more text, up to the limits; invalid JSON is counted as well as possible. */
  add(json: Uint8Array): JsonExcess | undefined {
    return this.#advance(begin(json), json.length);
  }

  /** `add` in slices, for a text that may be long. */
  async addInSlices(json: Uint8Array): Promise<JsonExcess | undefined> {
    const scan = begin(json);
    while (scan.at < json.length) {
      const excess = this.#advance(scan, scan.at + sliceBytes);
      if (excess !== undefined) return excess;
      if (scan.at < json.length) await new Promise((resolve) => setImmediate(resolve));
    }
    return undefined;
  }

  #advance(scan: Scan, until: number): JsonExcess | undefined {
    const { json } = scan;
    const end = Math.min(until, json.length);
    let { at, depth } = scan;
    const excess = (what: JsonExcess["what"]): JsonExcess => ({ what, field: nameOf(scan.field) });
    for (; at < end; at++) {
      switch (json[at]) {
        case quote: {
          const last = endOfText(json, at);
          if (depth === 1) [scan.from, scan.to] = [at, last + 1];
          at = last;
          break;
        }
        case colon:
          if (depth === 1) scan.field = json.subarray(scan.from, scan.to);
          if (++this.#keys > mostKeys) return excess("keys");
          break;
        case openList:
        case openObject:
          if (++depth > deepestNesting) return excess("nesting");
          if (++this.#values >= mostValues) return excess("values");
          break;
        case comma:
          if (++this.#values >= mostValues) return excess("values");
          break;
        case closeList:
        case closeObject:
          depth--;
          break;
      }
    }
    [scan.at, scan.depth] = [at, depth];
    return undefined;
  }
}

const begin = (json: Uint8Array): Scan => ({ json, at: 0, depth: 0, from: 0, to: 0 });

function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) {
    at += json[at] === backslash ? 2 : 1;
    if (at - from !== longText) continue;
    // A long string usually ends at the next quote, and `indexOf` finds it many times faster.
    const first = json.indexOf(quote, at);
    if (first !== -1 && json[first - 1] !== backslash) return first;
  }
  return at;
}

function nameOf(text: Uint8Array | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return String(JSON.parse(new TextDecoder().decode(text)));
  } catch {
    return undefined;
  }
}

export const excessText: Readonly<Record<JsonExcess["what"], string>> = {
  nesting: `is nested too deep: a body may have ${deepestNesting} levels`,
  values: `holds too much: a body may have ${mostValues} values. Split it into several requests`,
  keys: `holds too many fields: a body may have ${mostKeys}, all objects together`,
};
