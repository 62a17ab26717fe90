/** Items of a request that name an item of a kept response, which takes their place. */
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { KeptResponse } from "../../../core/ports/response-store.ts";
import { quoted } from "../../../core/quoted.ts";
import { refuse } from "../../wire/refuse.ts";
import { responseOfItem } from "./ids.ts";
import { InputItem } from "./request-schema.ts";

/** Undefined where there is none for the caller. */
export type FindResponse = (id: string) => Promise<KeptResponse | undefined>;

/** Each is read whole for one of its items. */
const mostResponses = 128;

const itemCheck = TypeCompiler.Compile(InputItem);

/** The items, without any that only refers to another. */
export async function withoutReferences(
  items: readonly InputItem[],
  find: FindResponse,
): Promise<InputItem[]> {
  const found = new Map<string, KeptResponse | undefined>();
  const resolved: InputItem[] = [];
  for (const [at, item] of items.entries()) {
    if (!isReference(item)) {
      resolved.push(item);
      continue;
    }
    const param = `input[${at}]`;
    const id = item.id ?? "";
    const responseId = responseOfItem(id);
    if (responseId !== undefined && !found.has(responseId)) {
      if (found.size === mostResponses) {
        throw refuse(param, `refers to one of more than ${mostResponses} responses`);
      }
      found.set(responseId, await find(responseId));
    }
    const referred = itemOf(found.get(responseId ?? ""), id);
    if (referred === undefined) {
      throw refuse(
        param,
        `refers to the item ${quoted(id)}, which this node does not have; send the item itself, and 'store': false where a client sends references by itself`,
      );
    }
    resolved.push(referred);
  }
  return resolved;
}

/** An id alone is one too. */
const isReference = ({ type, role, id }: InputItem): boolean =>
  type === "item_reference" || (!type && role === undefined && typeof id === "string");

function itemOf(response: KeptResponse | undefined, id: string): InputItem | undefined {
  if (response === undefined) return undefined;
  const output: unknown = "output" in response.body ? response.body.output : [];
  const items: unknown[] = [...(Array.isArray(output) ? output : []), ...response.input];
  const item = items.find((candidate) => Object(candidate).id === id);
  return itemCheck.Check(item) ? item : undefined;
}
