/** A text that is the same for everyone: made once, and sent compressed where the client takes it. */

export interface ServedText {
  text: string;
  type: string;
  compressed: Uint8Array<ArrayBuffer>;
  tag: string;
}

export function toServed(text: string, type: string): ServedText {
  const compressed = Bun.gzipSync(text, { level: 9 });
  // Weak: the bytes differ with the encoding.
  return { text, type, compressed, tag: `W/"${Bun.hash(text).toString(36)}"` };
}

/** Named, and not by a weight of 0, which is a refusal. */
const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** `headers`: those beside its type and its caching. */
export function serveText(
  request: Request,
  { text, type, compressed, tag }: ServedText,
  headers: Record<string, string>,
): Response {
  const all = { ...headers, etag: tag, vary: "accept-encoding" };
  if (request.headers.get("if-none-match")?.includes(tag) === true) {
    return new Response(null, { status: 304, headers: all });
  }
  const compress = takesGzip.test(request.headers.get("accept-encoding") ?? "");
  return new Response(compress ? compressed : text, {
    headers: {
      ...all,
      "content-type": type,
      ...(compress ? { "content-encoding": "gzip" } : {}),
    },
  });
}
