/** The page for people at /, and its files: made once, sent compressed where the browser takes it. */
import { Elysia } from "elysia";
import { missingRoute } from "./address.ts";
import { pageFiles, pageFolder } from "./page-files.ts";
import { pageHeaders, type ServedText, serveText, toServed } from "./page-response.ts";

export const pagePath = "/";
const entry = "index.html";

const headers = pageHeaders({
  // The page never makes markup from text; so no script can either.
  "require-trusted-types-for": "'script'",
  "trusted-types": "'none'",
});

const hidden = { detail: { hide: true } };

export function page() {
  return new Elysia({ name: "page" })
    .get(pagePath, ({ request }) => serve(request, entry), hidden)
    .get(`${pageFolder}/:file`, ({ params, request }) => serve(request, params.file), hidden);
}

async function serve(request: Request, name: string): Promise<Response> {
  const file = (await files()).get(name);
  if (file === undefined) throw missingRoute(request, []);
  // Every other file has a name that changes with its content.
  const caching = name === entry ? "no-cache" : "public, max-age=31536000, immutable";
  return serveText(request, file, { ...headers, "cache-control": caching });
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
