/** Pages for a browser: strict headers, and texts that are the same for everyone. */

type Policy = Readonly<Record<string, string>>;

/** Everything that a page loads comes from the node itself; nothing may frame it. */
const strict: Policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

/** `policy`: directives of the content security policy that the page has beside the strict ones, or instead of them. */
export function pageHeaders(policy: Policy = {}): Record<string, string> {
  const directives = Object.entries({ ...strict, ...policy });
  return {
    "content-security-policy": directives.map((words) => words.join(" ")).join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  };
}

/** A text that is the same for everyone: compressed once, and sent so where the client accepts it. */
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
