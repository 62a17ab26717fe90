/** Ids of responses and of their items, which say of which response they are. */

/** The random part of a response's id. */
const hexOf = (responseId: string): string => responseId.slice(prefix.length);

const prefix = "resp_";

export const newResponseId = (): string => `${prefix}${crypto.randomUUID().replaceAll("-", "")}`;

export const itemId = (responseId: string, kind: string, index: number): string =>
  `${kind}_${hexOf(responseId)}_${index}`;

/** The response that an item is of and its place in there; undefined for an id of somebody else's. */
export function placeOfItem(id: string): { responseId: string; index: number } | undefined {
  const { hex, index } = /^[a-z]+_(?<hex>[0-9a-f]{32})_(?<index>\d{1,6})$/.exec(id)?.groups ?? {};
  if (hex === undefined || index === undefined) return undefined;
  return { responseId: `${prefix}${hex}`, index: Number(index) };
}
