import { beforeAll, describe, expect, spyOn, test } from "bun:test";
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { describedApp } from "../../scripts/openapi.ts";
import { testApp } from "../support/test-app.ts";

const Content = T.Record(T.String(), T.Object({ schema: T.Object({ $ref: T.String() }) }));
const Operation = T.Object({
  operationId: T.String({ minLength: 1 }),
  summary: T.String({ minLength: 1 }),
  security: T.Array(T.Record(T.String(), T.Array(T.String()))),
  requestBody: T.Optional(T.Object({ required: T.Boolean(), content: Content })),
  responses: T.Record(T.String(), T.Object({ description: T.String(), content: Content })),
});
const Document = T.Object({
  openapi: T.String(),
  info: T.Object({ version: T.String() }),
  servers: T.Array(T.Object({ url: T.String() })),
  paths: T.Record(T.String(), T.Record(T.String(), Operation)),
  components: T.Object({
    schemas: T.Record(T.String(), T.Object({})),
    securitySchemes: T.Unknown(),
  }),
});

describe("the page at /docs", () => {
  const links = async (): Promise<string[]> => {
    const page = await (await testApp().get("/docs")).text();
    return [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link ?? "");
  };

  test("is HTML that refers only to paths of the node itself", async () => {
    const response = await testApp().get("/docs");
    const page = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("text/html");
    expect(page).not.toMatch(/https?:|@import|"\/\//);
    expect((await links()).filter((link) => !/^\/[^/]/.test(link))).toEqual([]);
  });

  test("has every asset that it refers to, of the right type and not empty", async () => {
    const found = await Promise.all(
      (await links()).map(async (link) => {
        const response = await testApp().get(link);
        const { length } = await response.text();
        return [link, response.status, response.headers.get("content-type"), length > 0];
      }),
    );
    expect(found).toEqual([
      ["/docs/favicon-32x32.png", 200, "image/png", true],
      ["/docs/swagger-ui.css", 200, "text/css; charset=utf-8", true],
      ["/docs/swagger-ui-bundle.js", 200, "text/javascript; charset=utf-8", true],
      ["/docs/start.js", 200, "text/javascript; charset=utf-8", true],
    ]);
  });

  test("starts with the node's own document, and its style loads nothing from elsewhere", async () => {
    expect(await (await testApp().get("/docs/start.js")).text()).toContain('url: "/openapi.json"');
    const style = await (await testApp().get("/docs/swagger-ui.css")).text();
    const loaded = [...style.matchAll(/url\(["']?([^)"']{0,5})/g)].map(([, start]) => start);
    expect(new Set(loaded)).toEqual(new Set(["data:"]));
    expect(style).not.toContain("@import");
  });
});

describe("the document at /openapi.json", () => {
  let document: Static<typeof Document>;
  let operations: (Static<typeof Operation> & { at: string })[];

  beforeAll(async () => {
    const response = await testApp().get("/openapi.json");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    document = Value.Decode(Document, await response.json());
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        at: `${method.toUpperCase()} ${path}`,
      })),
    );
  });

  test("is made once, and sent compressed to who takes it", async () => {
    const app = testApp();
    const first = await (await app.get("/openapi.json")).text();
    const stringify = spyOn(JSON, "stringify");
    const again = await app.get("/openapi.json", { "accept-encoding": "gzip, br" });
    const bytes = new Uint8Array(await again.arrayBuffer());
    expect(stringify).not.toHaveBeenCalled();
    stringify.mockRestore();
    expect(again.headers.get("content-encoding")).toBe("gzip");
    expect(bytes.length).toBeLessThan(first.length / 5);
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(first);
    const tag = again.headers.get("etag") ?? "";
    const known = await app.get("/openapi.json", { "if-none-match": tag });
    expect([known.status, await known.text()]).toEqual([304, ""]);
  });

  test("is of this node and its version", () => {
    const { openapi, info, servers } = document;
    expect({ openapi, version: info.version, servers: servers.map(({ url }) => url) }).toEqual({
      openapi: "3.1.0",
      version: "1.2.3",
      servers: ["/"],
    });
  });

  test("lists every route that the app has, except pages", async () => {
    const listed = (await describedApp()).routes
      .filter(({ hooks }) => hooks.detail?.hide !== true)
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    expect(operations.map(({ at }) => at).sort()).toEqual(listed.sort());
    expect(listed).toEqual([
      "DELETE /api/delete",
      "DELETE /v1/conversations/{conversation_id}",
      "DELETE /v1/conversations/{conversation_id}/items/{item_id}",
      "DELETE /v1/files/{file_id}",
      "DELETE /v1/models/{id}",
      "DELETE /v1/responses/{response_id}",
      "DELETE /v1/vector_stores/{vector_store_id}",
      "DELETE /v1/vector_stores/{vector_store_id}/files/{file_id}",
      "GET /api/ps",
      "GET /api/tags",
      "GET /api/version",
      "GET /health",
      "GET /metrics",
      "GET /ready",
      "GET /v1/conversations/{conversation_id}",
      "GET /v1/conversations/{conversation_id}/items",
      "GET /v1/conversations/{conversation_id}/items/{item_id}",
      "GET /v1/files",
      "GET /v1/files/{file_id}",
      "GET /v1/files/{file_id}/content",
      "GET /v1/info",
      "GET /v1/models",
      "GET /v1/models/{id}",
      "GET /v1/responses/{response_id}",
      "GET /v1/responses/{response_id}/input_items",
      "GET /v1/vector_stores",
      "GET /v1/vector_stores/{vector_store_id}",
      "GET /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}",
      "GET /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/files",
      "GET /v1/vector_stores/{vector_store_id}/files",
      "GET /v1/vector_stores/{vector_store_id}/files/{file_id}",
      "GET /v1/vector_stores/{vector_store_id}/files/{file_id}/content",
      "POST /api/chat",
      "POST /api/embed",
      "POST /api/embeddings",
      "POST /api/generate",
      "POST /api/pull",
      "POST /api/show",
      "POST /mcp",
      "POST /v1/chat/completions",
      "POST /v1/completions",
      "POST /v1/conversations",
      "POST /v1/conversations/{conversation_id}",
      "POST /v1/conversations/{conversation_id}/items",
      "POST /v1/detokenize",
      "POST /v1/embeddings",
      "POST /v1/files",
      "POST /v1/info",
      "POST /v1/messages",
      "POST /v1/messages/count_tokens",
      "POST /v1/models",
      "POST /v1/models/load",
      "POST /v1/models/pull",
      "POST /v1/models/pull/cancel",
      "POST /v1/models/unload",
      "POST /v1/rerank",
      "POST /v1/responses",
      "POST /v1/responses/input_tokens",
      "POST /v1/responses/{response_id}/cancel",
      "POST /v1/retrieve",
      "POST /v1/tokenize",
      "POST /v1/vector_stores",
      "POST /v1/vector_stores/{vector_store_id}",
      "POST /v1/vector_stores/{vector_store_id}/file_batches",
      "POST /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/cancel",
      "POST /v1/vector_stores/{vector_store_id}/files",
      "POST /v1/vector_stores/{vector_store_id}/files/{file_id}",
      "POST /v1/vector_stores/{vector_store_id}/search",
      "POST /v2/rerank",
    ]);
  });

  test("gives each operation an id of its own and an answer for 200", () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(operations.filter(({ responses }) => !("200" in responses))).toEqual([]);
  });

  test("refers only to schemas that it has", () => {
    const used = [...JSON.stringify(document.paths).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, reference]) => reference,
    );
    const known = Object.keys(document.components.schemas).map(
      (name) => `#/components/schemas/${name}`,
    );
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((reference) => !known.includes(reference ?? ""))).toEqual([]);
  });

  test("takes JSON bodies, and a form for an upload, and those only where one is read", () => {
    const bodies = operations.flatMap(({ at, requestBody }) =>
      requestBody === undefined
        ? []
        : [[at, requestBody.required, Object.keys(requestBody.content)]],
    );
    expect(bodies).toEqual([
      ...[
        "chat/completions",
        "completions",
        "responses",
        "responses/input_tokens",
        "conversations",
        "conversations/{conversation_id}",
        "conversations/{conversation_id}/items",
        "messages",
        "messages/count_tokens",
        "embeddings",
        "rerank",
      ].map((path) => [`POST /v1/${path}`, true, ["application/json"]]),
      ["POST /v2/rerank", true, ["application/json"]],
      ...["retrieve", "tokenize", "detokenize", "models/load", "models/unload", "models/pull"].map(
        (path) => [`POST /v1/${path}`, true, ["application/json"]],
      ),
      ["POST /v1/files", true, ["multipart/form-data"]],
      ...[
        "",
        "/{vector_store_id}",
        "/{vector_store_id}/search",
        "/{vector_store_id}/files",
        "/{vector_store_id}/files/{file_id}",
        "/{vector_store_id}/file_batches",
      ].map((path) => [`POST /v1/vector_stores${path}`, true, ["application/json"]]),
      ["POST /mcp", true, ["application/json"]],
      ...["chat", "generate", "embed", "embeddings", "show", "pull"].map((path) => [
        `POST /api/${path}`,
        true,
        ["application/json"],
      ]),
      ["DELETE /api/delete", true, ["application/json"]],
    ]);
  });

  test("answers with JSON everywhere but for metrics and files, and with a stream from chats and pulls too", () => {
    const types = new Map(
      operations.map(({ at, responses }) => [at, Object.keys(responses["200"]?.content ?? {})]),
    );
    for (const streaming of [
      "POST /v1/chat/completions",
      "POST /v1/completions",
      "POST /v1/responses",
      "POST /v1/messages",
      "POST /v1/models/pull",
    ]) {
      expect(types.get(streaming)).toEqual(["application/json", "text/event-stream"]);
      types.delete(streaming);
    }
    for (const streaming of ["POST /api/chat", "POST /api/generate", "POST /api/pull"]) {
      expect(types.get(streaming)).toEqual(["application/json", "application/x-ndjson"]);
      types.delete(streaming);
    }
    expect(types.get("GET /metrics")).toEqual(["text/plain"]);
    types.delete("GET /metrics");
    const content = "GET /v1/files/{file_id}/content";
    expect(types.get(content)).toEqual(["application/octet-stream"]);
    types.delete(content);
    expect([...types.values()].flat()).toEqual(Array(types.size).fill("application/json"));
  });

  test("wants a key in either header where one may be wanted, and names the errors", () => {
    const secured = operations.filter(({ security }) => security.some((need) => "bearer" in need));
    for (const { security } of secured)
      expect(security).toEqual([{ bearer: [] }, { apiKey: [] }, {}]);
    const errors = new Map(secured.map(({ at, responses }) => [at, Object.keys(responses)]));
    expect(errors.get("GET /metrics")).toEqual(["200", "401"]);
    const specified = ["/v1/chat/completions", "/v1/embeddings", "/v1/retrieve"];
    const others = ["/v1/completions", "/v1/tokenize", "/v1/detokenize", "/v1/rerank"];
    for (const path of [...specified, ...others]) {
      const unknownModel = specified.includes(path) ? "500" : "404";
      const statuses = [
        "200",
        "400",
        "401",
        "403",
        "408",
        "413",
        "415",
        "429",
        "502",
        "503",
        "504",
      ];
      expect(errors.get(`POST ${path}`)).toEqual([...statuses, unknownModel].sort());
    }
    for (const [at, statuses] of errors) {
      if (!/\/v1\/(files|vector_stores)/.test(at)) continue;
      const body = at.startsWith("POST") ? ["408", "413", "415"] : [];
      const wanted = ["200", "400", "401", "403", "404", ...body, "429", "502", "503", "504"];
      expect([at, statuses.filter((status) => wanted.includes(status))]).toEqual([at, statuses]);
    }
    const open = operations.filter(({ at }) => !errors.has(at)).map(({ at }) => at);
    expect(
      open.filter(
        (at) => !/ \/(health|ready|v1\/(info|models)(\/{id})?|api\/(tags|ps|version))$/.test(at),
      ),
    ).toEqual([]);
    expect(document.components.securitySchemes).toEqual({
      bearer: expect.objectContaining({ type: "http", scheme: "bearer" }),
      apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
    });
  });
});
