import { describe, expect, test } from "bun:test";
import { QdrantClient } from "@qdrant/js-client-rest";
import { NodeError } from "../../../../src/core/errors.ts";
import { qdrantAddress } from "../../../../src/store/qdrant/connection.ts";

describe("the address of a Qdrant server", () => {
  test.each([
    ["http://localhost", "http://localhost:6333", "http://localhost:6333/readyz"],
    ["http://localhost/", "http://localhost:6333", "http://localhost:6333/readyz"],
    ["http://localhost:6333", "http://localhost:6333", "http://localhost:6333/readyz"],
    ["http://localhost:80", "http://localhost:80", "http://localhost/readyz"],
    ["http://localhost:80/q", "http://localhost:80/q", "http://localhost/q/readyz"],
    ["http://10.0.0.1:8080", "http://10.0.0.1:8080", "http://10.0.0.1:8080/readyz"],
    ["http://[::80]", "http://[::80]:6333", "http://[::80]:6333/readyz"],
    ["https://db.example", "https://db.example", "https://db.example/readyz"],
    ["https://db.example:443", "https://db.example", "https://db.example/readyz"],
    ["https://db.example:6333", "https://db.example:6333", "https://db.example:6333/readyz"],
    ["https://db.example/a/b/", "https://db.example/a/b", "https://db.example/a/b/readyz"],
    ["HTTPS://DB.example", "https://db.example", "https://db.example/readyz"],
  ])("%s is shown as %s", async (url, shown, requested) => {
    const address = qdrantAddress(url);
    expect(address.shown).toBe(shown);
    expect(await requestedBy(address.client)).toBe(requested);
  });

  test.each([
    ["", "http://host:6333"],
    ["localhost:6333", "http://host:6333"],
    ["ftp://host", "http://host:6333"],
    ["http://user:secret@host", "credential"],
    ["https://secret@host", "credential"],
    ["http://host?api-key=secret", "no query"],
    ["http://host#secret", "no fragment"],
  ])("%s is refused", (url, hint) => {
    expect(() => qdrantAddress(url)).toThrow(hint);
    expect(() => qdrantAddress(url)).toThrow(NodeError);
    expect(() => qdrantAddress(url)).not.toThrow("secret");
  });
});

/** The URL that the client asks for. */
async function requestedBy(client: { url: string; port: number; prefix: string }): Promise<string> {
  const original = globalThis.fetch;
  const asked = Promise.withResolvers<string>();
  globalThis.fetch = Object.assign(
    async (url: string | URL | Request) => {
      asked.resolve(new URL(url instanceof Request ? url.url : url).href);
      return Response.json({ result: true });
    },
    { preconnect: original.preconnect },
  );
  try {
    await new QdrantClient({ ...client, checkCompatibility: false }).api().readyz({});
    return await asked.promise;
  } finally {
    globalThis.fetch = original;
  }
}
