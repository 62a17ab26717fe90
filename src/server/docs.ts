/** The API docs: /openapi.json, and Swagger UI at /docs, which works without a network. */
import { swagger } from "@elysiajs/swagger";
import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import favicon from "swagger-ui-dist/favicon-32x32.png" with { type: "file" };
import stylesheet from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { missingRoute, pathOf } from "./address.ts";
import { tags } from "./operation.ts";
import { pageHeaders, type ServedText, serveText, toServed } from "./page.ts";

interface DocsOptions {
  version: string;
  schemas: Readonly<Record<string, TSchema>>;
}

export const docsPath = "/docs";
export const documentPath = "/openapi.json";

const assets = new Map([
  ["swagger-ui.css", { file: stylesheet, type: "text/css; charset=utf-8" }],
  ["swagger-ui-bundle.js", { file: script, type: "text/javascript; charset=utf-8" }],
  ["favicon-32x32.png", { file: favicon, type: "image/png" }],
]);

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Paddock API</title>
<link rel="icon" type="image/png" href="${docsPath}/favicon-32x32.png">
<link rel="stylesheet" href="${docsPath}/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${docsPath}/swagger-ui-bundle.js"></script>
<script src="${docsPath}/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({ url: "${documentPath}", dom_id: "#swagger-ui", deepLinking: true });\n`;

/** Swagger UI's images are data URLs in its stylesheet, which the strict policy allows. */
const headers = pageHeaders();

const hidden = { detail: { hide: true } };

export function docs({ version, schemas }: DocsOptions) {
  let document: ServedText | undefined;
  const isDocument = (request: Request): boolean => pathOf(request) === documentPath;
  const serveDocument = (request: Request, made: ServedText): Response =>
    serveText(request, made, { "cache-control": "no-cache" });
  const text = (body: string, type: string) => () =>
    new Response(body, { headers: { "content-type": type, ...headers } });
  return (
    new Elysia({ name: "docs" })
      // Cached: the plugin rebuilds the document, a quarter of a megabyte, for every request.
      .onBeforeHandle(({ request }) => {
        if (document !== undefined && isDocument(request)) return serveDocument(request, document);
      })
      .onAfterHandle(({ request, responseValue }) => {
        if (document !== undefined || !isDocument(request)) return;
        document = toServed(JSON.stringify(responseValue), "application/json");
        return serveDocument(request, document);
      })
      .use(
        swagger({
          path: docsPath,
          specPath: documentPath,
          provider: "swagger-ui",
          documentation: {
            openapi: "3.1.0",
            info: {
              title: "Paddock",
              version,
              description:
                "A node that serves a language model: chat (plain and streamed), embeddings, retrieval from a vector collection, model listing and node information.",
            },
            servers: [{ url: "/", description: "This node" }],
            tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
            components: {
              schemas: { ...schemas },
              securitySchemes: {
                bearer: { type: "http", scheme: "bearer" },
                apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
              },
            },
          },
        }),
      )
      // After the plugin: its own page at this path loads scripts from a CDN.
      .get(docsPath, text(page, "text/html; charset=utf-8"), hidden)
      .get(`${docsPath}/start.js`, text(start, "text/javascript; charset=utf-8"), hidden)
      .get(
        `${docsPath}/:asset`,
        ({ params, request }) => {
          const asset = assets.get(params.asset);
          if (asset === undefined) throw missingRoute(request, []);
          return new Response(Bun.file(asset.file), { headers: { "content-type": asset.type } });
        },
        hidden,
      )
  );
}
