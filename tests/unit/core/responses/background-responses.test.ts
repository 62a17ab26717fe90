import { expect, test } from "bun:test";
import { NodeError } from "../../../../src/core/errors.ts";
import type { ResponseChange } from "../../../../src/core/ports/response-store.ts";
import { BackgroundResponses } from "../../../../src/core/responses/background-responses.ts";
import { onAbort } from "../../../support/aborted.ts";
import { recordingLog } from "../../../support/recording-log.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentLog } from "../../../support/silence.ts";
import { keptResponse, responseStore, testResponses } from "../../../support/test-responses.ts";
import { waitFor } from "../../../support/wait-for.ts";

const anyone = {};

/** Work that goes on until it is told to finish, and ends with its signal. */
function heldWork() {
  const { promise, resolve, reject } = Promise.withResolvers<ResponseChange>();
  const begun = Promise.withResolvers<AbortSignal>();
  const work = (signal: AbortSignal): Promise<ResponseChange> => {
    begun.resolve(signal);
    onAbort(signal, () => reject(signal.reason));
    return promise;
  };
  return { work, begun: begun.promise, finish: resolve, fail: reject };
}

const made: ResponseChange = { status: "completed", body: { id: "resp_1", text: "made" } };

const background = (id: string) => keptResponse(id, { status: "queued", isBackground: true });

test("a response is kept as it waits, is made, and is done", async () => {
  const { responses } = testResponses({ maxRunning: 1 });
  const first = heldWork();
  const second = heldWork();
  const status = async (id: string) => (await responses.find(id, anyone))?.status;
  const one = await responses.start({
    ...{ response: keptResponse("resp_1"), caller: "ada", work: first.work },
  });
  const two = await responses.start({
    ...{ response: keptResponse("resp_2"), caller: "ada", work: second.work },
  });
  await first.begun;
  expect(await status("resp_1")).toBe("in_progress");
  expect(await status("resp_2")).toBe("queued");
  first.finish(made);
  await one.ended;
  expect(await responses.get("resp_1", anyone)).toMatchObject({ ...made, isBackground: true });
  await second.begun;
  second.finish({ status: "incomplete" });
  await two.ended;
  expect(await status("resp_2")).toBe("incomplete");
});

test("a failure is kept with its reason, and tells nothing of the inside", async () => {
  const { log, lines } = recordingLog();
  const { responses } = testResponses({ log });
  const known = new NodeError("context_length_exceeded", "It is too long.");
  for (const [id, error] of Object.entries({ resp_1: known, resp_2: new Error("at /etc/x") })) {
    const { ended } = await responses.start({
      response: keptResponse(id),
      caller: "ada",
      work: () => Promise.reject(error),
    });
    await ended;
  }
  expect(await responses.get("resp_1", anyone)).toMatchObject({
    status: "failed",
    failure: { code: "invalid_prompt", message: "It is too long." },
  });
  expect(await responses.get("resp_2", anyone)).toMatchObject({
    status: "failed",
    failure: { code: "server_error", message: expect.stringContaining("The log has the reason") },
  });
  expect(lines.map(({ message }) => message)).toEqual(["a response failed", "a response failed"]);
});

test("one that is cancelled ends, whether it runs or waits, and stays cancelled", async () => {
  const { responses } = testResponses({ maxRunning: 1 });
  const running = heldWork();
  const waiting = heldWork();
  const one = await responses.start({
    ...{ response: keptResponse("resp_1"), caller: "ada", work: running.work },
  });
  const two = await responses.start({
    ...{ response: keptResponse("resp_2"), caller: "ada", work: waiting.work },
  });
  const signal = await running.begun;
  expect(await responses.cancel("resp_2", anyone)).toMatchObject({ status: "cancelled" });
  await two.ended;
  expect(await responses.cancel("resp_1", anyone)).toMatchObject({ status: "cancelled" });
  expect(signal.aborted).toBe(true);
  await one.ended;
  expect(await responses.get("resp_1", anyone)).toMatchObject({ status: "cancelled" });
  expect((await responses.get("resp_1", anyone)).failure).toBeUndefined();
  expect(await responses.cancel("resp_1", anyone)).toMatchObject({ status: "cancelled" });
});

test("work that does not heed its signal keeps its place until it ends, and comes too late", async () => {
  const { responses } = testResponses({ maxRunning: 1 });
  const stubborn = Promise.withResolvers<ResponseChange>();
  const begun = Promise.withResolvers<void>();
  const { ended } = await responses.start({
    response: keptResponse("resp_1"),
    caller: "ada",
    work: () => {
      begun.resolve();
      return stubborn.promise;
    },
  });
  await begun.promise;
  await responses.cancel("resp_1", anyone);
  const next = heldWork();
  await responses.start({ response: keptResponse("resp_2"), caller: "ada", work: next.work });
  expect((await responses.get("resp_2", anyone)).status).toBe("queued");
  stubborn.resolve(made);
  await ended;
  await next.begun;
  expect((await responses.get("resp_1", anyone)).status).toBe("cancelled");
});

test("one that is deleted while it is made ends, and does not come back", async () => {
  const { responses } = testResponses();
  const held = heldWork();
  const { ended } = await responses.start({
    ...{ response: keptResponse("resp_1"), caller: "ada", work: held.work },
  });
  await held.begun;
  await responses.delete("resp_1", anyone);
  await ended;
  expect(await responses.find("resp_1", anyone)).toBeUndefined();
});

test("only one that is made in the background can be cancelled, and only by its owner", async () => {
  const { responses } = testResponses();
  await responses.keep(keptResponse("resp_1", { owner: "ada" }));
  expect(await rejectionOf(responses.cancel("resp_1", { id: "ada" }))).toMatchObject({
    kind: "invalid_request",
    message: expect.stringContaining("synchronous"),
  });
  expect(await rejectionOf(responses.cancel("resp_1", { id: "bob" }))).toMatchObject({
    kind: "no_such_object",
  });
});

test("callers have their turns, whoever came first with many", async () => {
  const { responses } = testResponses({ maxRunning: 1, maxQueue: 8 });
  const order: string[] = [];
  const first = heldWork();
  await responses.start({ response: keptResponse("resp_0"), caller: "ada", work: first.work });
  const ends: Promise<void>[] = [];
  for (const [id, caller] of [
    ["resp_1", "ada"],
    ["resp_2", "ada"],
    ["resp_3", "bob"],
  ] as const) {
    const work = async () => {
      order.push(id);
      return made;
    };
    ends.push((await responses.start({ response: keptResponse(id), caller, work })).ended);
  }
  first.finish(made);
  await Promise.all(ends);
  expect(order.toSorted()).toEqual(["resp_1", "resp_2", "resp_3"]);
  expect(order.indexOf("resp_3")).toBeLessThan(order.indexOf("resp_2"));
});

test("what would wait beyond the line is refused, and one caller has half of what others leave", async () => {
  const { responses } = testResponses({ maxRunning: 1, maxQueue: 4 });
  const start = (id: string, caller: string) =>
    responses.start({ response: keptResponse(id), caller, work: heldWork().work });
  for (const id of ["resp_1", "resp_2", "resp_3"]) await start(id, "ada");
  const refused = { kind: "overloaded", param: "background" };
  expect(await rejectionOf(start("resp_4", "ada"))).toMatchObject(refused);
  await start("resp_5", "bob");
  expect(await rejectionOf(start("resp_6", "bob"))).toMatchObject(refused);
  await start("resp_8", "eve");
  expect(await rejectionOf(start("resp_7", "eve"))).toMatchObject(refused);
  expect(await responses.find("resp_7", anyone)).toBeUndefined();
});

test("one that takes longer than it may fails for that reason", async () => {
  const { responses } = testResponses({ timeoutMs: 5 });
  const { ended } = await responses.start({
    ...{ response: keptResponse("resp_1"), caller: "ada", work: heldWork().work },
  });
  await ended;
  expect(await responses.get("resp_1", anyone)).toMatchObject({
    status: "failed",
    failure: { message: expect.stringContaining("limits.request_timeout") },
  });
});

test("a node that stops fails those that run and those that wait, and takes no more", async () => {
  const { responses, background: runs } = testResponses({ maxRunning: 1 });
  const held = heldWork();
  await responses.start({ response: keptResponse("resp_1"), caller: "ada", work: held.work });
  const waiting = { response: keptResponse("resp_2"), caller: "ada", work: heldWork().work };
  await responses.start(waiting);
  await held.begun;
  await runs[Symbol.asyncDispose]();
  for (const id of ["resp_1", "resp_2"]) {
    expect(await responses.get(id, anyone)).toMatchObject({
      status: "failed",
      failure: { message: expect.stringContaining("The node stopped") },
    });
  }
  expect(await rejectionOf(responses.start(waiting))).toMatchObject({ kind: "unavailable" });
});

test("one that comes while a node stops is refused, and not left waiting for ever", async () => {
  const { store, background: runs, responses } = testResponses();
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  const { failUnfinished } = store;
  store.failUnfinished = async (failure) => {
    await held;
    return await failUnfinished.call(store, failure);
  };
  const coming = { response: keptResponse("resp_1"), caller: "ada", work: heldWork().work };
  const refused = rejectionOf(runs.start(coming));
  const stopped = runs[Symbol.asyncDispose]();
  goOn();
  expect(await refused).toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("The node stopped"),
  });
  await stopped;
  expect(await responses.find("resp_1", anyone)).toBeUndefined();
});

test("what a process left unfinished is failed by the next one that has the data dir", async () => {
  const store = responseStore();
  await store.save(background("resp_1"));
  let isFree = false;
  const { log, lines } = recordingLog();
  const runs = new BackgroundResponses({
    ...{ store, maxRunning: 1, maxQueue: 1, timeoutMs: () => 0, log },
    ownership: { take: () => isFree, check: () => {} },
  });
  await runs.recover();
  expect(await store.find("resp_1", undefined)).toMatchObject({ status: "queued" });
  isFree = true;
  await runs.recover();
  expect(await store.find("resp_1", undefined)).toMatchObject({
    status: "failed",
    failure: { code: "server_error", message: expect.stringContaining("The node ended") },
  });
  expect(lines.map(({ message }) => message)).toEqual([
    "responses that were being made when the node ended have failed",
  ]);
});

test("a node that finds nothing unfinished does not ask for the lock", async () => {
  const runs = new BackgroundResponses({
    ...{ store: responseStore(), maxRunning: 1, maxQueue: 1, timeoutMs: () => 0, log: silentLog },
    ownership: {
      take: () => {
        throw new Error("It was asked for.");
      },
      check: () => {},
    },
  });
  await runs.recover();
});

test("a node that keeps nothing makes nothing in the background", async () => {
  const { responses } = testResponses({ keepForMs: 0 });
  const start = responses.start({
    ...{ response: keptResponse("resp_1"), caller: "ada", work: heldWork().work },
  });
  expect(await rejectionOf(start)).toMatchObject({ kind: "invalid_request", param: "background" });
  expect(await responses.keep(keptResponse("resp_1"))).toBe(false);
});

test("an answer that is too large to be kept is told in the log, and not kept", async () => {
  const { log, lines } = recordingLog();
  const { responses } = testResponses({ log, maxResponseBytes: 10 });
  expect(await responses.keep(keptResponse("resp_1"))).toBe(false);
  expect(lines).toMatchObject([{ level: "warn", message: "a response is not stored" }]);
});

test("what is made while the store is away is saved once it is back", async () => {
  const { log, lines } = recordingLog();
  const store = responseStore();
  let isAway = false;
  const runs = new BackgroundResponses({
    store: {
      save: (response) => store.save(response),
      replace: (response, before) => store.replace(response, before),
      find: (id, owner) => store.find(id, owner),
      delete: (id, owner) => store.delete(id, owner),
      check: () => store.check(),
      hasUnfinished: () => store.hasUnfinished(),
      failUnfinished: (failure) => store.failUnfinished(failure),
      tidy: () => store.tidy(),
      change: async (id, change) => {
        if (isAway) throw new NodeError("unavailable", "The disk is full.");
        return await store.change(id, change);
      },
    },
    ...{ maxRunning: 1, maxQueue: 1, timeoutMs: () => 0, log },
    ownership: { take: () => true, check: () => {} },
  });
  const held = heldWork();
  const { ended } = await runs.start({
    ...{ response: keptResponse("resp_1"), caller: "ada", work: held.work },
  });
  await held.begun;
  isAway = true;
  held.finish(made);
  await waitFor("the first try", () => lines.length > 0);
  isAway = false;
  await ended;
  expect(await store.find("resp_1", undefined)).toMatchObject(made);
});
