import { describe, expect, test } from "bun:test";
import { Type as T } from "@sinclair/typebox";
import { continueInBackground, startTimeout } from "../../../../src/server/middleware/answer.ts";
import { keyAccess } from "../../../../src/server/middleware/authentication.ts";
import { defineOperation } from "../../../../src/server/operation.ts";
import { Pipeline } from "../../../../src/server/pipeline.ts";
import { contextOf, RequestContext } from "../../../../src/server/request-context.ts";
import { bareNode } from "../../../support/bare-node.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { waitFor } from "../../../support/wait-for.ts";

/** The signal that a request's work ends with, and what forgets its time. */
function timeout(requestTimeoutMs: number) {
  let signal = new AbortController().signal;
  const endWith = (...signals: readonly AbortSignal[]): void => {
    signal = AbortSignal.any([...signals]);
  };
  const stopping = new AbortController().signal;
  const started = startTimeout({ endWith }, requestTimeoutMs, stopping);
  return { signal, clear: () => started[Symbol.dispose]() };
}

describe("a timeout", () => {
  test("aborts with an error for the caller", async () => {
    const { signal } = timeout(1);
    await waitFor("the timeout", () => signal.aborted);
    expect(signal.reason).toMatchObject({ kind: "timeout" });
    expect(String(signal.reason)).toContain("0.001 s");
  });

  test("of 0 is none", async () => {
    const { signal } = timeout(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(signal.aborted).toBe(false);
  });

  test("is forgotten once it is cleared", async () => {
    const { signal, clear } = timeout(2);
    clear();
    const other = timeout(10);
    await waitFor("a later timeout", () => other.signal.aborted);
    expect(signal.aborted).toBe(false);
  });
});

const open = () =>
  new RequestContext({
    request: new Request("http://localhost/v1/responses", { method: "POST" }),
    id: "req_1",
    target: { name: "responses" },
    headers: {},
    access: keyAccess([]),
    logsPrompts: false,
    onWork: () => {},
  });

test.each(["resolve", "reject"] as const)(
  "a request ends with what continues in the background, which may %s, and not before",
  async (how) => {
    const context = open();
    const background = Promise.withResolvers<void>();
    const ends: string[] = [];
    void context.ended.then(() => ends.push("the request"));
    const ending = { [Symbol.dispose]: () => void ends.push("its lease") };
    continueInBackground(background.promise, context, ending);
    context.responded(200);
    await Promise.resolve();
    expect(ends).toEqual([]);
    background[how]();
    expect(await context.ended).toMatchObject({ status: 200, outcome: "ok" });
    expect(ends).toEqual(["its lease", "the request"]);
  },
);

test("what continues in the background ends with its own signal, and not with the client", () => {
  const client = new AbortController();
  const run = new AbortController();
  const context = open();
  context.endWith(client.signal);
  context.signal = run.signal;
  client.abort();
  expect(context.signal.aborted).toBe(false);
  run.abort();
  expect(context.signal.aborted).toBe(true);
});

test("its caller's place is held, and what it used is charged, until it has ended", async () => {
  await using node = await bareNode({
    toml: "[limits]\nconcurrency = 1\ntokens_per_minute = 100\n",
  });
  const pipeline = new Pipeline(node.services);
  const background = Promise.withResolvers<void>();
  const operation = defineOperation({
    ...{ route: "POST /background", name: "background", operationId: "background" },
    ...{ summary: "Goes on", tag: "Chat", scope: "chat", errors: {} },
    answer: { name: "Background", schema: T.Object({}), description: "Nothing." },
    handler: () => ({ json: { status: "queued" }, background: background.promise }),
  });
  const ask = async () => {
    const request = new Request("http://localhost/background", { method: "POST" });
    const headers = {};
    pipeline.receive(request, { name: "background", operation: operation.facts }, headers);
    const answer = await pipeline.serve(operation, {}, { request, params: {}, set: { headers } });
    contextOf(request).responded(200);
    return { answer, context: contextOf(request) };
  };
  const { answer, context } = await ask();
  expect(answer).toEqual({ status: "queued" });
  expect(await rejectionOf(ask())).toMatchObject({ kind: "too_many_requests" });
  context.report({
    ...{ type: "answered", model: "chatty", calledAt: 0, startedAt: 0, endedAt: 1 },
    ...{ promptTokens: 90, generatedTokens: 60 },
  });
  background.resolve();
  expect(await context.ended).toMatchObject({ tokens: { prompt: 90, completion: 60 } });
  // The place is free again, and now the tokens are what is missing.
  expect(await rejectionOf(ask())).toMatchObject({ kind: "too_many_tokens" });
});
