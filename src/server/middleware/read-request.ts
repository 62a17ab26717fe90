/** The body and the query of a request as values that are valid for its operation, or an error that names the field. What is too much is never built. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";
import { findViolation, formatPath, type Violation } from "../../validation/violation.ts";
import type { AskedFor, Operation, ReadRequest } from "../operation.ts";
import { refuse } from "../wire/fields.ts";
import { fieldExaminer } from "./ignored-fields.ts";

/** `bytes`: the body; absent where the operation takes none. */
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

/** Why a value breaks a schema, as an error that names the field. */
export function invalid(schema: TSchema | undefined, body: unknown): NodeError {
  const violation = schema === undefined ? undefined : findViolation(schema, body);
  if (violation === undefined) return new NodeError("internal", "A body failed without a reason.");
  return new NodeError("invalid_request", messageOf(violation), {
    ...(violation.path.length > 0 ? { param: formatPath(violation.path) } : {}),
  });
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

/** Rejects what is small in bytes and large in everything else, before any of it is built. */
async function checkSize(bytes: Uint8Array): Promise<void> {
  const excess = await new JsonSize().addInSlices(bytes);
  if (excess === undefined) return;
  const { what, field } = excess;
  throw new NodeError(
    "invalid_request",
    `${field === undefined ? "The body" : quoted(field)} ${excessText[what]}.`,
    field === undefined ? {} : { param: field },
  );
}

async function parsed(bytes: Uint8Array): Promise<unknown> {
  await checkSize(bytes);
  const text = decode(bytes);
  if (text.trim() === "") {
    throw new NodeError("invalid_request", "The body is empty; a JSON object is needed.");
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid JSON.", { cause });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new NodeError("invalid_request", "The body is not valid UTF-8.", { cause });
  }
}

export interface BodyLimits {
  maxBodyBytes: number;
  /** How long it may take to arrive. */
  bodyTimeoutMs: number;
}

/** The body's bytes, whole or rejected: JSON by its type, not too large, and in time. */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { maxBodyBytes: maxBytes } = limits;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
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
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The chunks until the time is up. It is counted for the whole body, so that a trickle is late too. */
async function* inTime(
  body: ReadableStream<Uint8Array> | null,
  ms: number,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(overdue(ms / 1000)), ms);
  // Nobody awaits it after a body that came in time.
  late.catch(() => {});
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // Nobody reads what is still to come; after the end this does nothing.
    reader.cancel().catch(() => {});
  }
}

const overdue = (seconds: number): NodeError =>
  new NodeError(
    "body_timeout",
    `The body did not arrive within the ${seconds} s that this node waits for it (limits.body_timeout).`,
  );

export interface ListLimits {
  maxMessages: number;
  maxInputs: number;
}

export interface ListBound {
  param: string;
  limit: keyof ListLimits;
  /** Whether the bound is for such a list, by its first item; default: for every one. */
  isFor?: (first: unknown) => boolean;
}

const settings: Readonly<Record<keyof ListLimits, string>> = {
  maxMessages: "limits.max_messages",
  maxInputs: "limits.max_inputs",
};

/** Rejects lists that are longer than the node accepts. Looks at lengths only: nothing in a list counts before it is known not to be too long. */
function checkLists(body: unknown, bounds: readonly ListBound[], limits: ListLimits): void {
  for (const { param, limit, isFor = () => true } of bounds) {
    const list: unknown = Object(body)[param];
    const most = limits[limit];
    if (!Array.isArray(list) || list.length <= most || !isFor(list[0])) continue;
    throw new NodeError(
      "invalid_request",
      `'${param}' is a list of ${list.length}; this node takes at most ${most} (${settings[limit]}).`,
      { param },
    );
  }
}

interface ReadQuery<Query> {
  query: Query;
  /** Names that the schema does not know, and what it says to be ignored. */
  ignored: () => string[];
}

/** Reads what stands behind the `?` of an address; without a schema it is not looked at. A parameter that is left empty counts as absent; a list may be written `name=a&name=b`, with `[]` behind the name. */
export function queryReader<Query extends TObject>(
  schema: Query | undefined,
): (asked: URLSearchParams) => ReadQuery<Static<Query>> {
  const checker = schema && TypeCompiler.Compile(schema);
  const isValid = (query: unknown): query is Static<Query> => checker?.Check(query) ?? true;
  const examine = schema === undefined ? () => [] : fieldExaminer(schema);
  const known = new Map(Object.entries(schema?.properties ?? {}));
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
    if (!isValid(query)) throw invalid(schema, query);
    const names = schema === undefined ? [] : [...new Set(asked.keys())];
    const unknown = names.filter((name) => !known.has(nameOf(name)));
    return { query, ignored: () => [...unknown, ...examine(query)] };
  };
}

/** Its number; else the text, for the schema to refuse. */
const toInteger = (text: string): unknown => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

/** How deep it may nest: what walks it later does so by calling itself. */
export const deepestNesting = 256;
/** Values of any kind; more than the token ids of a thousand long texts. */
export const mostValues = 1_000_000;
/** Members of objects, which cost ten times what an item of a list does. */
export const mostKeys = 100_000;

interface JsonExcess {
  what: "nesting" | "values" | "keys";
  /** The field of the outermost object that it lies in, where there is one. */
  field: string | undefined;
}

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c];
const [openList, openObject, closeList, closeObject] = [0x5b, 0x7b, 0x5d, 0x7d];

const longText = 64;

/** Bytes that are looked at before others get their turn: some milliseconds. */
const sliceBytes = 1 << 20;

/** How far a text was looked at. */
interface Scan {
  json: Uint8Array;
  at: number;
  depth: number;
  /** Of the outermost object: where the text that came last begins and ends. */
  from: number;
  to: number;
  /** The one that was last a field's name. */
  field: Uint8Array | undefined;
}

/** How much JSON texts hold, told from their bytes; over any number of texts, so that many small ones are no way around the bounds. */
export class JsonSize {
  #values = 0;
  #keys = 0;

  /** Counts one more text as far as the bounds; text that is not JSON is counted as well as possible. */
  add(json: Uint8Array): JsonExcess | undefined {
    return this.#advance(begin(json), json.length);
  }

  /** The same for a text that may be long, piece by piece. */
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

const begin = (json: Uint8Array): Scan => ({
  json,
  at: 0,
  depth: 0,
  from: 0,
  to: 0,
  field: undefined,
});

/** Where the quote is that ends the text which begins at `from`. */
function endOfText(json: Uint8Array, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) {
    at += json[at] === backslash ? 2 : 1;
    if (at - from !== longText) continue;
    // A long text tends to end at the first quote there is, which is found many times as fast.
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

/** What is too much, as the end of a sentence. */
export const excessText: Readonly<Record<JsonExcess["what"], string>> = {
  nesting: `is nested too deep: a body may have ${deepestNesting} levels`,
  values: `holds too much: a body may have ${mostValues} values. Split it into several requests`,
  keys: `holds too many fields: a body may have ${mostKeys}, all objects together`,
};
