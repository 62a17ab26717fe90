/** The description that the node serves of itself: /openapi.json, and a page at /docs that needs no network. */
import { Elysia } from "elysia";
import favicon from "swagger-ui-dist/favicon-32x32.png" with { type: "file" };
import stylesheet from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { missingRoute } from "./address.ts";
import { pageHeaders, type ServedText, serveText, toServed } from "./page.ts";

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

/** swagger-ui's pictures are data in its style, which the strict policy allows. */
const headers = pageHeaders();

/** `describe`: makes the document, a quarter of a megabyte, when it is first asked for. */
export function docs(describe: () => object) {
  let document: ServedText | undefined;
  const text = (body: string, type: string) => () =>
    new Response(body, { headers: { "content-type": type, ...headers } });
  return new Elysia({ name: "docs" })
    .get(documentPath, ({ request }) => {
      document ??= toServed(JSON.stringify(describe()), "application/json");
      return serveText(request, document, { "cache-control": "no-cache" });
    })
    .get(docsPath, text(page, "text/html; charset=utf-8"))
    .get(`${docsPath}/start.js`, text(start, "text/javascript; charset=utf-8"))
    .get(`${docsPath}/:asset`, ({ params, request }) => {
      const asset = assets.get(params.asset);
      if (asset === undefined) throw missingRoute(request, []);
      return new Response(Bun.file(asset.file), { headers: { "content-type": asset.type } });
    });
}
