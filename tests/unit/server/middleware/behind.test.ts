import { expect, test } from "bun:test";
import { keyAccess } from "../../../../src/server/middleware/authentication.ts";
import { goOnBehind } from "../../../../src/server/middleware/behind.ts";
import { openContext } from "../../../../src/server/request-context.ts";

const open = () =>
  openContext({
    request: new Request("http://localhost/v1/responses", { method: "POST" }),
    id: "req_1",
    operation: { operation: "responses", genAiOperation: "chat" },
    headers: {},
    access: keyAccess([]),
    logsPrompts: false,
    onWork: () => {},
  });

test.each(["resolve", "reject"] as const)(
  "a request ends with what goes on behind its answer, which may %s, and not before",
  async (how) => {
    const context = open();
    const behind = Promise.withResolvers<void>();
    const ends: string[] = [];
    void context.ended.then(() => ends.push("the request"));
    const ending = { [Symbol.dispose]: () => void ends.push("its lease") };
    goOnBehind(behind.promise, context, ending);
    context.responded(200);
    await Promise.resolve();
    expect(ends).toEqual([]);
    behind[how]();
    expect(await context.ended).toMatchObject({ status: 200, outcome: "ok" });
    expect(ends).toEqual(["its lease", "the request"]);
  },
);

test("what goes on behind an answer ends with its own signal, and not with the client", () => {
  const client = new AbortController();
  const run = new AbortController();
  const context = open();
  context.endWith(client.signal);
  context.goOnWith(run.signal);
  client.abort();
  expect(context.signal.aborted).toBe(false);
  run.abort();
  expect(context.signal.aborted).toBe(true);
});
