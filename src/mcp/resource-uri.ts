/** Addresses of documents as resources: ids, which are looked up and never opened as paths. */

export interface DocumentAddress {
  collection: string;
  document: string;
  /** The passage that it is read from; default: the first. */
  from?: number;
}

export const uriTemplate = "paddock://documents/{collection}/{document}{?from}";

const longest = 2048;
const form = /^paddock:\/\/documents\/([^/?#]+)\/([^/?#]+)(?:\?from=(\d{1,9}))?$/;

export function toUri({ collection, document, from = 0 }: DocumentAddress): string {
  const path = [collection, document].map(encodeURIComponent).join("/");
  return `paddock://documents/${path}${from === 0 ? "" : `?from=${from}`}`;
}

/** Undefined where it is no such address. */
export function fromUri(uri: string): DocumentAddress | undefined {
  const [, collection, document, from = "0"] = uri.length > longest ? [] : (form.exec(uri) ?? []);
  if (collection === undefined || document === undefined) return undefined;
  try {
    return {
      collection: decodeURIComponent(collection),
      document: decodeURIComponent(document),
      from: Number(from),
    };
  } catch {
    return undefined;
  }
}
