import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../../src/config/load.ts";
import { collectionStore } from "../../../../src/node/documents/node-collection.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentLog } from "../../../support/silence.ts";

/** A server that keeps the keys that it is shown. */
function keyCollector() {
  const keys: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      keys.push(request.headers.get("api-key"));
      return new Response("no", { status: 400 });
    },
  });
  return { keys, url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
}

const configuredFor = (url: string) => {
  const env = { PADDOCK_VECTORSTORE_URL: url, PADDOCK_VECTORSTORE_API_KEY: "secret" };
  return { config: loadConfig({ env, flags: {} }), baseDir: ".", log: silentLog };
};

describe("the key of the vector store", () => {
  test("is shown to the configured server, or to any where none is configured", async () => {
    await using server = keyCollector();
    await rejectionOf(collectionStore(configuredFor(server.url)).list());
    await rejectionOf(collectionStore(configuredFor("embedded"), server.url).list());
    expect(server.keys).toEqual(["secret", "secret"]);
  });

  test("is not shown to another server than the configured", async () => {
    await using server = keyCollector();
    await rejectionOf(collectionStore(configuredFor("http://127.0.0.1:9"), server.url).list());
    expect(server.keys).toEqual([null]);
  });
});
