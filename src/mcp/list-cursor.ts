/** Where a list of all collections' documents goes on: in a collection, behind a document. */
import { NodeError } from "../core/errors.ts";

export interface ListPlace {
  /** The collection that is listed; absent: the one behind `after`. */
  within?: string;
  /** The document, or the collection, that was listed last. */
  after: string;
}

const longest = 1024;

export const toCursor = ({ within = "", after }: ListPlace): string =>
  Buffer.from(JSON.stringify([within, after])).toString("base64url");

export function fromCursor(cursor: string): ListPlace {
  const parsed = cursor.length > longest ? undefined : parse(cursor);
  if (!Array.isArray(parsed)) throw refused();
  const [within, after]: unknown[] = parsed;
  if (typeof within !== "string" || typeof after !== "string" || after === "") throw refused();
  return within === "" ? { after } : { within, after };
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
}

const refused = (): NodeError =>
  new NodeError(
    "invalid_request",
    "'cursor' is not one that this node gave out; list from the beginning.",
    { param: "cursor" },
  );
