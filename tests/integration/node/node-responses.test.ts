import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { TrustedClock } from "../../../src/core/trusted-clock.ts";
import { NodeResponses } from "../../../src/node/node-responses.ts";
import { untilAborted } from "../../support/aborted.ts";
import { bareNodeOptions } from "../../support/bare-node.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { type TempDir, tempDir } from "../../support/temp-dir.ts";
import { keptResponse, responseStore } from "../../support/test-responses.ts";
import { waitFor } from "../../support/wait-for.ts";

const toml = 'data_dir = "data"\n[responses]\nkeep_for = 1000\n';

function nodeResponses({ path: baseDir }: TempDir) {
  const { log, lines } = recordingLog();
  const clock = new TrustedClock(log);
  const options = { ...bareNodeOptions({ toml, baseDir }), log, clock, timeoutMs: () => 0 };
  return { node: new NodeResponses(options), lines };
}

const storeIn = ({ path }: TempDir) =>
  responseStore({ path: join(path, "data", "responses.sqlite"), keepForMs: 1e9 });

const statusOf = async (node: NodeResponses, id: string) =>
  (await node.responses.find(id, {}))?.status;

test("a node fails at its start what was being made when it ended, and deletes what is over", async () => {
  await using folder = await tempDir();
  {
    await using store = storeIn(folder);
    await store.save(keptResponse("resp_made", { status: "in_progress", isBackground: true }));
    await store.save(keptResponse("resp_old", { createdAt: Date.now() - 2_000_000 }));
    await store.save(keptResponse("resp_new"));
  }
  const stopping = new AbortController();
  const { node, lines } = nodeResponses(folder);
  await using _ = node;
  await using _running = node.start(stopping.signal);
  await waitFor("both to be told", () => lines.length === 2);
  expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
    ["warn", "responses that were being made when the node ended have failed", { left: 1 }],
    ["info", "stored responses have expired, and are deleted", { count: 1 }],
  ]);
  expect(await statusOf(node, "resp_made")).toBe("failed");
  expect(await statusOf(node, "resp_new")).toBe("completed");
  stopping.abort();
});

test("a node that keeps nothing yet writes nothing into its data dir", async () => {
  await using folder = await tempDir();
  const stopping = new AbortController();
  {
    const { node, lines } = nodeResponses(folder);
    await using _ = node;
    await using _running = node.start(stopping.signal);
    expect(await node.responses.find("resp_1", {})).toBeUndefined();
    stopping.abort();
    expect(lines).toEqual([]);
  }
  expect(readdirSync(folder.path)).toEqual([]);
});

test("a node that stops fails what it makes, before anything that makes it is gone", async () => {
  await using folder = await tempDir();
  const stopping = new AbortController();
  const { node } = nodeResponses(folder);
  await using _ = node;
  await using _running = node.start(stopping.signal);
  const { ended } = await node.responses.start({
    response: keptResponse("resp_1"),
    caller: "ada",
    work: untilAborted,
  });
  stopping.abort();
  await ended;
  expect(await node.responses.get("resp_1", {})).toMatchObject({
    status: "failed",
    failure: { message: expect.stringContaining("The node stopped") },
  });
});

test("of two nodes on one data dir the first makes responses, and the second leaves them alone", async () => {
  await using folder = await tempDir();
  const stopping = new AbortController();
  const { node: first } = nodeResponses(folder);
  const { ended } = await first.responses.start({
    response: keptResponse("resp_1"),
    caller: "ada",
    work: untilAborted,
  });
  await waitFor("its turn", async () => (await statusOf(first, "resp_1")) === "in_progress");
  const { node: second, lines } = nodeResponses(folder);
  await using _ = second;
  await using _running = second.start(stopping.signal);
  const another = { response: keptResponse("resp_2"), caller: "ada", work: untilAborted };
  expect(await rejectionOf(second.responses.start(another))).toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("Another node has the background responses"),
  });
  expect(await statusOf(second, "resp_1")).toBe("in_progress");
  // What one node keeps the other knows, and may end.
  await second.responses.cancel("resp_1", {});
  expect(await statusOf(first, "resp_1")).toBe("cancelled");
  await first[Symbol.asyncDispose]();
  await ended;
  expect(await statusOf(second, "resp_1")).toBe("cancelled");
  const { ended: made } = await second.responses.start(another);
  stopping.abort();
  await made;
  expect(lines).toEqual([]);
});
