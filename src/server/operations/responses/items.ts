/** Items of requests and responses: ids, references, listing, and details shown by `include`. */
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { excessText, JsonSize } from "../../../core/json-size.ts";
import type { SavedResponse } from "../../../core/ports/response-store.ts";
import { quoted } from "../../../core/quoted.ts";
import type { ConversationItem } from "../../../core/responses/conversation-service.ts";
import { refuse } from "../../wire/fields.ts";
import { type Input, InputItem } from "./request-schema.ts";
import { type Includable, served } from "./schema.ts";

/** Undefined if the caller has no such response. */
export type FindResponse = (id: string) => Promise<SavedResponse | undefined>;

export interface ReferenceOptions {
  find: FindResponse;
  /** Most bytes of all referenced items: as many as could be sent directly. */
  maxBodyBytes: number;
  /** Counts the memory of what is read; throws if there is no room. */
  hold: (bytes: number) => void;
  signal: AbortSignal;
}

/** Most responses that references may name: each is read in full, one after the other. */
const mostResponses = 128;

export const itemCheck = TypeCompiler.Compile(InputItem);

export async function withoutReferences(
  items: readonly InputItem[],
  { find, maxBodyBytes, hold, signal }: ReferenceOptions,
): Promise<InputItem[]> {
  const resolved = [...items];
  const size = new JsonSize();
  let bytes = 0;
  for (const [responseId, places] of referencesIn(items)) {
    signal.throwIfAborted();
    const found = itemsOf(await find(responseId), places);
    for (const [id, at] of places) {
      const param = `input[${at}]`;
      const item = found.get(id);
      if (!itemCheck.Check(item)) throw notThere(id, param);
      const json = Buffer.from(JSON.stringify(item));
      bytes += json.length;
      if (bytes > maxBodyBytes) {
        throw refuse(
          param,
          `refers to an item that makes more than ${maxBodyBytes} bytes with those before it, and no more may be sent (limits.max_body_bytes)`,
        );
      }
      hold(json.length);
      const excess = await size.addInSlices(json);
      if (excess !== undefined) {
        throw refuse(
          param,
          `refers to an item that, with those before it, ${excessText[excess.what]}`,
        );
      }
      resolved[at] = item;
    }
  }
  return resolved;
}

function referencesIn(items: readonly InputItem[]): Map<string, Map<string, number>> {
  const responses = new Map<string, Map<string, number>>();
  for (const [at, item] of items.entries()) {
    if (!isReference(item)) continue;
    const param = `input[${at}]`;
    const id = item.id ?? "";
    const responseId = responseOfItem(id);
    if (responseId === undefined) throw notThere(id, param);
    const places = responses.get(responseId) ?? new Map<string, number>();
    const before = places.get(id);
    if (before !== undefined) {
      throw refuse(
        `${param}.id`,
        `is ${quoted(id)}, which 'input[${before}]' refers to already; refer to an item once`,
      );
    }
    places.set(id, at);
    responses.set(responseId, places);
    if (responses.size > mostResponses) {
      throw refuse(param, `refers to one of more than ${mostResponses} responses`);
    }
  }
  return responses;
}

/** An id alone is a reference too. */
const isReference = ({ type, role, id }: InputItem): boolean =>
  type === "item_reference" || (!type && role === undefined && typeof id === "string");

/** The requested items of a response; the rest is not held in memory. */
function itemsOf(
  response: SavedResponse | undefined,
  asked: ReadonlyMap<string, number>,
): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const { body = {}, input = [] } = response ?? {};
  const output: unknown = "output" in body ? body.output : [];
  for (const item of [...(Array.isArray(output) ? output : []), ...input]) {
    const id: unknown = Object(item).id;
    if (typeof id === "string" && asked.has(id) && !found.has(id)) found.set(id, item);
  }
  return found;
}

const notThere = (id: string, param: string) =>
  refuse(
    param,
    `refers to the item ${quoted(id)}, which this node does not have; send the item itself, and 'store': false where a client sends references by itself`,
  );

const prefixes: Readonly<Record<string, string>> = {
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
  file_search_call: "fs",
};

/** The input as `input_items` lists it: complete items with their own ids, unless one repeats. */
export function toListedItems(input: Input, responseId: string): ConversationItem[] {
  const items: readonly InputItem[] =
    typeof input === "string" ? [{ role: "user", content: input }] : input;
  const ids = new Set<string>();
  return items.map((item, index) => {
    const type = item.type ?? "message";
    const given = item.id ?? "";
    const isOwn = given !== "" && !ids.has(given);
    const id = isOwn ? given : inputItemId(responseId, prefixes[type] ?? "msg", index);
    ids.add(id);
    const listed = { ...item, id, type, status: "completed" };
    return type === "message" ? { ...listed, content: partsOf(item) } : listed;
  });
}

function partsOf({ role, content }: InputItem): unknown {
  if (typeof content !== "string") return content;
  return role === "assistant"
    ? [{ type: "output_text", text: content, annotations: [] }]
    : [{ type: "input_text", text: content }];
}

/** Item ids contain the id of their response. */
const prefix = "resp_";

const hexOf = (responseId: string): string => responseId.slice(prefix.length);

export const newResponseId = (): string => `${prefix}${crypto.randomUUID().replaceAll("-", "")}`;

export const itemId = (responseId: string, kind: string, index: number): string =>
  `${kind}_${hexOf(responseId)}_${index}`;

export const inputItemId = (responseId: string, kind: string, index: number): string =>
  `${kind}_${hexOf(responseId)}_in${index}`;

/** The response that an item id belongs to; undefined for ids that this node did not create. */
function responseOfItem(id: string): string | undefined {
  const [, hex] = /^[a-z]+_([0-9a-f]{32})_(?:in)?\d{1,6}$/.exec(id) ?? [];
  return hex === undefined ? undefined : `${prefix}${hex}`;
}

/** The body of a response, with only those output details that `include` names. */
export function shownWith(body: object, include: readonly Includable[] = []): object {
  if (!("output" in body) || !Array.isArray(body.output)) return body;
  const output = body.output.map((item) => (isObject(item) ? itemWith(item, include) : item));
  return { ...body, output };
}

/** `shownWith` for one item: of the output, or of the input if it was output before. */
export function itemWith<Item extends object>(
  item: Item,
  include: readonly Includable[] = [],
): Item {
  const { type, content, results }: { type?: unknown; content?: unknown; results?: unknown } = item;
  if (type === "file_search_call" && results !== undefined) {
    return include.includes(served.searchResults) ? item : { ...item, results: null };
  }
  const isShown = type !== "message" || include.includes(served.logprobs);
  if (isShown || !Array.isArray(content)) return item;
  const withoutLogprobs = (part: unknown): unknown => {
    if (!isObject(part)) return part;
    const { logprobs: _, ...rest }: { logprobs?: unknown } = part;
    return rest;
  };
  return { ...item, content: content.map(withoutLogprobs) };
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
