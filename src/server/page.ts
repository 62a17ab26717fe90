/** The page for people at /, and its files: made once, sent compressed where the browser takes it. */
import { Elysia } from "elysia";
import { missingRoute } from "./allowed-methods.ts";
import { type PageFile, pageFiles, pageFolder } from "./page-files.ts";
import { pageHeaders } from "./page-headers.ts";

export const pagePath = "/";
const entry = "index.html";

interface ServedFile extends PageFile {
  compressed: Uint8Array<ArrayBuffer>;
  tag: string;
}

const headers = pageHeaders({
  // The page never makes markup from text; so no script can either.
  "require-trusted-types-for": "'script'",
  "trusted-types": "'none'",
});

/** Named, and not by a weight of 0, which is a refusal. */
const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

const hidden = { detail: { hide: true } };

export function page() {
  return new Elysia({ name: "page" })
    .get(pagePath, ({ request }) => serve(request, entry), hidden)
    .get(`${pageFolder}/:file`, ({ params, request }) => serve(request, params.file), hidden);
}

async function serve(request: Request, name: string): Promise<Response> {
  const file = (await files()).get(name);
  if (file === undefined) throw missingRoute(request, []);
  const caching = {
    etag: file.tag,
    vary: "accept-encoding",
    // Every other file has a name that changes with its content.
    "cache-control": name === entry ? "no-cache" : "public, max-age=31536000, immutable",
  };
  if (request.headers.get("if-none-match")?.includes(file.tag) === true) {
    return new Response(null, { status: 304, headers: { ...headers, ...caching } });
  }
  const compress = takesGzip.test(request.headers.get("accept-encoding") ?? "");
  return new Response(compress ? file.compressed : file.text, {
    headers: {
      ...headers,
      ...caching,
      "content-type": file.type,
      ...(compress ? { "content-encoding": "gzip" } : {}),
    },
  });
}

let made: Promise<ReadonlyMap<string, ServedFile>> | undefined;

function files(): Promise<ReadonlyMap<string, ServedFile>> {
  made ??= make().catch((error: unknown) => {
    made = undefined;
    throw error;
  });
  return made;
}

async function make(): Promise<ReadonlyMap<string, ServedFile>> {
  const all = await pageFiles();
  return new Map(all.map((file) => [file.name, toServed(file)]));
}

function toServed(file: PageFile): ServedFile {
  const compressed = Bun.gzipSync(file.text, { level: 9 });
  // Weak: the bytes differ with the encoding.
  return { ...file, compressed, tag: `W/"${Bun.hash(file.text).toString(36)}"` };
}
