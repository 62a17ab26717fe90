/** Serves the web page at /, and there what Ollama's clients look for. Pages get strict headers, and texts are compressed once. */
import { Elysia } from "elysia";
import { missingRoute } from "./address.ts";
import { pageFiles, pageFolder } from "./page-files.ts";

type Policy = Readonly<Record<string, string>>;

/** A page loads everything from the node itself, and no site may frame it. */
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

/** `policy`: directives of the content security policy that extend or replace the strict ones. */
export function pageHeaders(policy: Policy = {}): Record<string, string> {
  const directives = Object.entries({ ...strict, ...policy });
  return {
    "content-security-policy": directives.map((words) => words.join(" ")).join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  };
}

export const pagePath = "/";
const entry = "index.html";

const headers = pageHeaders({
  // The page never turns text into markup, so no injected script may either.
  "require-trusted-types-for": "'script'",
  "trusted-types": "'none'",
});

const hidden = { detail: { hide: true } };

export interface PageSettings {
  /** Whether a client that does not ask for HTML is told at / that Ollama's API is here. */
  looksLikeOllama: boolean;
}

export function page({ looksLikeOllama }: PageSettings) {
  const isForBrowser = ({ headers }: Request): boolean =>
    !looksLikeOllama || headers.get("accept")?.includes("text/html") === true;
  return new Elysia({ name: "page" })
    .get(
      pagePath,
      ({ request }) => (isForBrowser(request) ? serve(request, entry) : ollamaIsRunning()),
      hidden,
    )
    .get(`${pageFolder}/:file`, ({ params, request }) => serve(request, params.file), hidden);
}

const byAccept = { vary: "accept, accept-encoding" };

/** The words that Ollama's clients look for. */
const ollamaIsRunning = (): Response =>
  new Response("Ollama is running", {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-cache",
      ...byAccept,
    },
  });

async function serve(request: Request, name: string): Promise<Response> {
  const file = (await files()).get(name);
  if (file === undefined) throw missingRoute(request, []);
  // All other names change with their content.
  const caching = name === entry ? "no-cache" : "public, max-age=31536000, immutable";
  const varying = name === entry ? byAccept : {};
  return serveText(request, file, { ...headers, ...varying, "cache-control": caching });
}

let made: Promise<ReadonlyMap<string, ServedText>> | undefined;

function files(): Promise<ReadonlyMap<string, ServedText>> {
  made ??= make().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
}

async function make(): Promise<ReadonlyMap<string, ServedText>> {
  const all = await pageFiles();
  return new Map(all.map((file) => [file.name, toServed(file.text, file.type)]));
}

/** A text that is the same for everyone: compressed once, for clients that accept gzip. */
export interface ServedText {
  /** Blobs, since a response would copy text or bytes, and hold them for as long as its client reads. */
  plain: Blob;
  compressed: Blob;
  type: string;
  tag: string;
}

export function toServed(text: string, type: string): ServedText {
  const compressed = new Blob([Bun.gzipSync(text, { level: 9 })]);
  // A weak tag, since the bytes differ by encoding.
  return { plain: new Blob([text]), compressed, type, tag: `W/"${Bun.hash(text).toString(36)}"` };
}

/** `gzip`, unless its weight is 0, which means that it is not accepted. */
const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

export function serveText(
  request: Request,
  { plain, compressed, type, tag }: ServedText,
  headers: Record<string, string>,
): Response {
  const all = { vary: "accept-encoding", ...headers, etag: tag };
  if (request.headers.get("if-none-match")?.includes(tag) === true) {
    return new Response(null, { status: 304, headers: all });
  }
  const compress = takesGzip.test(request.headers.get("accept-encoding") ?? "");
  return new Response(compress ? compressed : plain, {
    headers: {
      ...all,
      "content-type": type,
      ...(compress ? { "content-encoding": "gzip" } : {}),
    },
  });
}
