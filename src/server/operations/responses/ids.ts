/** Ids of responses and of their items, which say of which response they are. */

const prefix = "resp_";

/** The random part of a response's id. */
const hexOf = (responseId: string): string => responseId.slice(prefix.length);

export const newResponseId = (): string => `${prefix}${crypto.randomUUID().replaceAll("-", "")}`;

/** Of an item of the output. */
export const itemId = (responseId: string, kind: string, index: number): string =>
  `${kind}_${hexOf(responseId)}_${index}`;

/** Of an item of the input that came without an id. */
export const inputItemId = (responseId: string, kind: string, index: number): string =>
  `${kind}_${hexOf(responseId)}_in${index}`;

/** The response that an item is of; undefined for an id that was made elsewhere. */
export function responseOfItem(id: string): string | undefined {
  const [, hex] = /^[a-z]+_([0-9a-f]{32})_(?:in)?\d{1,6}$/.exec(id) ?? [];
  return hex === undefined ? undefined : `${prefix}${hex}`;
}
