import { beforeAll, describe, expect, test } from "bun:test";
import { testApp } from "../support/test-app.ts";

const app = testApp({ keys: ["a-long-secret"] });
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  app.handle(new Request(`http://localhost${path}`, { headers }));

describe("the page at /", () => {
  let html: string;
  let links: string[];

  beforeAll(async () => {
    html = await (await get("/")).text();
    links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link ?? "");
  });

  test("is HTML, for everyone, and is asked for anew each time", async () => {
    const response = await get("/");
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(html).toContain("<title>Paddock</title>");
  });

  test("names only files of the node, which may be kept for good", async () => {
    const found = await Promise.all(
      links.map(async (link) => {
        const response = await get(link);
        const { headers, status } = response;
        const kind = link.replace(/^\/page\/\w+-\w+\./, "");
        return [kind, status, headers.get("content-type"), headers.get("cache-control")];
      }),
    );
    const forGood = "public, max-age=31536000, immutable";
    expect(found.sort()).toEqual([
      ["css", 200, "text/css; charset=utf-8", forGood],
      ["js", 200, "text/javascript; charset=utf-8", forGood],
      ["svg", 200, "image/svg+xml", forGood],
    ]);
  });

  test("lets nothing in from elsewhere, and runs no script of an answer", async () => {
    const { headers } = await get("/");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("is not sent again to who has it", async () => {
    const tag = (await get("/")).headers.get("etag") ?? "";
    const again = await get("/", { "if-none-match": tag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect((await get("/", { "if-none-match": 'W/"other"' })).status).toBe(200);
  });

  test("comes compressed to who takes it so", async () => {
    for (const link of ["/", ...links]) {
      const plain = await get(link);
      const packed = await get(link, { "accept-encoding": "gzip, br" });
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(packed.headers.get("content-encoding")).toBe("gzip");
      const unpacked = Bun.gunzipSync(await packed.arrayBuffer());
      expect(new TextDecoder().decode(unpacked)).toBe(await plain.text());
    }
  });

  test.each([
    ["gzip", "gzip"],
    ["br;q=1.0, GZIP;q=0.5", "gzip"],
    ["gzip;q=0", null],
    ["gzip; q=0.0, br", null],
    ["br", null],
    ["", null],
  ])("heeds what may be sent: '%s'", async (accepted, encoding) => {
    const { headers } = await get("/", { "accept-encoding": accepted });
    expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([
      encoding,
      "accept, accept-encoding",
    ]);
  });

  test("is under 100 kB compressed, with all its files", async () => {
    let bytes = 0;
    for (const link of ["/", ...links]) {
      bytes += (await (await get(link, { "accept-encoding": "gzip" })).arrayBuffer()).byteLength;
    }
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(100_000);
  });

  test("has the server's types only: none of its schemas, and no validator", async () => {
    const [script] = await Promise.all(
      links.filter((link) => link.endsWith(".js")).map(async (link) => (await get(link)).text()),
    );
    expect(script).toContain("[DONE]");
    expect(script).not.toContain("chatcmpl-");
    expect(script).not.toContain("additionalProperties");
  });

  test("has no other files", async () => {
    expect((await get("/page/nothing.js")).status).toBe(404);
    expect((await get("/page/constructor")).status).toBe(404);
    expect((await app.handle(new Request("http://localhost/", { method: "POST" }))).status).toBe(
      405,
    );
  });
});
