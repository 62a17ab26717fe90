import { expect, test } from "bun:test";
import { reasonOf } from "../../../../src/core/errors.ts";
import { probeServer } from "../../../../src/gateway/upstream/server-facts.ts";
import { type Behaviour, faultyReplica } from "../../../support/faulty-replica.ts";

const signal = new AbortController().signal;

/** What a probe says of such a server: undefined where it works. */
async function verdict(behaviour: Behaviour): Promise<string | undefined> {
  await using replica = await faultyReplica(behaviour);
  return await probeServer(undefined)(replica.url, signal).then(() => undefined, reasonOf);
}

test("takes a list of models for a server that works, and nothing else", async () => {
  expect([
    await verdict("well"),
    await verdict("busy"),
    await verdict("no json"),
    await verdict("breaks off"),
    await verdict("garbage"),
  ]).toEqual([
    undefined,
    "it answers with status 503",
    "it answers no JSON",
    "the connection broke off",
    expect.any(String),
  ]);
});

test("takes a list that is nested without end for none", async () => {
  const deep = `{"data":${"[".repeat(1000)}${"]".repeat(1000)}}`;
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(deep, { headers: { "content-type": "application/json" } }),
  });
  const probed = probeServer(undefined)(`${server.url.origin}/v1`, signal);
  expect(await probed.then(() => undefined, reasonOf)).toBe("it answers no JSON");
});

test("sends the key, and takes a refusal for a server that works", async () => {
  const keys: (string | null)[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      keys.push(request.headers.get("authorization"));
      return new Response("no", { status: keys.length === 1 ? 404 : 401 });
    },
  });
  const probe = probeServer("a-key");
  const url = `${server.url.origin}/v1`;
  await probe(url, signal);
  await probe(url, signal);
  expect(keys).toEqual(["Bearer a-key", "Bearer a-key"]);
});

test("ends with its signal where the server never answers", async () => {
  await using replica = await faultyReplica("hangs");
  const left = new AbortController();
  const asked = probeServer(undefined)(replica.url, left.signal).then(() => undefined, reasonOf);
  left.abort(new Error("no answer within 5 s"));
  expect(await asked).toBe("no answer within 5 s");
});
