/** A node in processes answers others while it works on the heaviest requests of each operation. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { expectOthersAnswered, type HealthWatch, watchHealth } from "../support/health-watch.ts";
import { largestBodies } from "../support/largest-bodies/largest-bodies.ts";
import { type NodeUnderFault, nodeUnderFault } from "../support/node-under-fault.ts";
import { tinyRerankerSection } from "../support/tiny-node.ts";

/** All of them reach a model; tests/faults/largest-bodies.test.ts has every body. */
const heaviest: readonly (readonly [path: string, what: string])[] = [
  ["/v1/chat/completions", "escaped characters"],
  ["/v1/responses", "a long conversation to truncate"],
  ["/v1/messages", "a long grounded conversation"],
  ["/v1/messages/count_tokens", "the members of a call's input"],
  ["/v1/completions", "a long text, scored, with many answers"],
  ["/v1/embeddings", "texts to embed"],
  ["/v1/rerank", "documents"],
  ["/v1/retrieve", "one text"],
  ["/v1/vector_stores/vs_default/search", "sixteen texts"],
  ["/mcp", "a query"],
];

let under: NodeUnderFault;
let health: HealthWatch;

beforeAll(async () => {
  under = await nodeUnderFault({ models: await tinyRerankerSection() });
  health = await watchHealth(under.node);
});
afterAll(async () => {
  health[Symbol.dispose]();
  await under[Symbol.asyncDispose]();
});

test.each(heaviest)("%s answers others while it is sent: %s", async (path, what) => {
  const large = largestBodies.find((body) => body.path === path && body.what === what);
  const body = new TextEncoder().encode(large?.body());
  expect(body.length).toBeGreaterThan(0);
  await expectOthersAnswered(async () => {
    await health.seen();
    const response = await fetch(`${under.node.origin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    await response.arrayBuffer();
    const seen = await health.seen();
    if (process.env.PADDOCK_TEST_FIGURES !== undefined) console.log(path, seen);
    return seen;
  });
});
