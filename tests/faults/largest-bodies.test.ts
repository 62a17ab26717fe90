/** No request, whatever it is, blocks the node's loop for a second: others are answered meanwhile. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { eachKindOnce, largestBodies } from "../support/largest-bodies/largest-bodies.ts";
import { largestReferences } from "../support/largest-references.ts";
import { type LoopWatch, watchLoop } from "../support/loop-watch.ts";
import { prepareFolder } from "../support/node-under-fault.ts";
import { tempDir } from "../support/temp-dir.ts";
import { listeningNode, type TinyNode, tinyRerankerSection } from "../support/tiny-node.ts";

/** The rule of docs/architecture.md, in CPU time; a tenth of it is usual. */
const mostMs = 1000;

const resources = new AsyncDisposableStack();
let tiny: TinyNode;
let loop: LoopWatch;

beforeAll(async () => {
  const folder = resources.use(await tempDir());
  const { toml } = await prepareFolder(folder, { models: await tinyRerankerSection() });
  tiny = resources.use(
    await listeningNode(toml, {
      PADDOCK_DATA_DIR: join(folder.path, ".paddock"),
      // As a node serves: what a model does is not done on this loop.
      PADDOCK_ISOLATION: "process",
    }),
  );
  loop = resources.use(watchLoop());
});
afterAll(() => resources.disposeAsync());

/** PADDOCK_TEST_BODIES=all sends each kind of body to every operation that takes it. */
const bodies =
  process.env.PADDOCK_TEST_BODIES === "all" ? largestBodies : eachKindOnce(largestBodies);

test.each(bodies)("$path leaves the loop to others: $what", async (large) => {
  await expectShortBlocks(large);
});

test.each(largestReferences)(
  "/v1/responses leaves the loop to others when it refers to what is stored: $what",
  async ({ kept, body }) => {
    const ids: string[] = [];
    for (const one of kept()) ids.push(await store(one));
    const large = { path: "/v1/responses", body: () => body(ids), isLong: false };
    await expectShortBlocks(large);
  },
);

interface LargeRequest {
  path: string;
  body: () => string;
  isLong: boolean;
}

/** A stolen core counts as work of this thread, so the least of a few measurements is what holds. */
async function expectShortBlocks(large: LargeRequest): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5 && least >= mostMs; tries++) {
    least = Math.min(least, await longestBlock(large));
  }
  expect(least).toBeLessThan(mostMs);
}

/** Milliseconds of CPU time that others waited for the loop at most while it was worked on. */
async function longestBlock(large: LargeRequest): Promise<number> {
  const leave = new AbortController();
  // Making the body is the client's work, and done before.
  const request = post(large.path, large.body(), leave.signal);
  loop.longest();
  const answered = answer(request);
  if (large.isLong) {
    await Promise.race([answered, loop.idle()]);
    leave.abort();
  }
  const status = await answered;
  await loop.idle();
  const longest = loop.longest();
  if (process.env.PADDOCK_TEST_FIGURES !== undefined) console.log(large.path, status, longest);
  return longest;
}

/** Stores a response with this input, and returns its id. */
async function store(input: string): Promise<string> {
  const body = `{"model":"tiny-chat","max_output_tokens":1,"input":${input}}`;
  const response = await tiny.app.handle(post("/v1/responses", body));
  const { id, store: isStored } = Object(await response.json());
  expect([response.status, isStored]).toEqual([200, true]);
  return String(id);
}

const post = (path: string, body: string, signal: AbortSignal | null = null): Request =>
  new Request(`http://127.0.0.1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(body),
    signal,
  });

/** The status, after the whole answer; a client that leaves reads no more of it. */
async function answer(request: Request): Promise<number> {
  const response = await tiny.app.handle(request);
  const body = await response.arrayBuffer().catch((error: unknown) => {
    if (!request.signal.aborted) throw error;
    return new ArrayBuffer();
  });
  expect(Buffer.from(body).includes("internal_error")).toBe(false);
  return response.status;
}
