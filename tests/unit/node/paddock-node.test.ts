import { describe, expect, test } from "bun:test";
import type { PaddockNode } from "../../../src/node/paddock-node.ts";
import { bareNode } from "../../support/bare-node.ts";
import { rejectionOf } from "../../support/rejection.ts";

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

const nodeWith = (url: string): PaddockNode =>
  bareNode({ env: { PADDOCK_VECTORSTORE_URL: url, PADDOCK_VECTORSTORE_API_KEY: "secret" } });

describe("the key of the vector store", () => {
  test("is shown to the configured server, or to any where none is configured", async () => {
    await using server = keyCollector();
    await rejectionOf(nodeWith(server.url).collectionStore().list());
    await rejectionOf(nodeWith("embedded").collectionStore(server.url).list());
    expect(server.keys).toEqual(["secret", "secret"]);
  });

  test("is not shown to another server than the configured", async () => {
    await using server = keyCollector();
    await rejectionOf(nodeWith("http://127.0.0.1:9").collectionStore(server.url).list());
    expect(server.keys).toEqual([null]);
  });
});
