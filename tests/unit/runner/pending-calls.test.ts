import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../src/core/errors.ts";
import { PendingCalls } from "../../../src/runner/pending-calls.ts";
import { type Call, fromSentError, toSentError } from "../../../src/runner/protocol.ts";

const nobody = { hear: () => {}, fail: () => {} };

describe("the calls of a model", () => {
  const messages = [{ role: "user", content: "Hi" }] as const;
  const short: Call[] = [
    { type: "count-chat", messages },
    { type: "count-inputs", inputs: ["a"] },
    { type: "tokenize", input: { messages } },
    { type: "detokenize", tokens: [1] },
  ];
  for (const call of short) {
    test(`do not keep its threads busy by '${call.type}'`, () => {
      const calls = new PendingCalls(() => {});
      calls.add(call, nobody);
      expect(calls.computes).toBe(false);
      calls.add({ type: "embed", inputs: ["a"] }, nobody);
      expect(calls.computes).toBe(true);
    });
  }

  test("fail each with an error of its own, which says when to ask again", () => {
    const calls = new PendingCalls(() => {});
    const failed: Error[] = [];
    const listener = { ...nobody, fail: (error: Error) => void failed.push(error) };
    for (let count = 0; count < 2; count++) calls.add({ type: "embed", inputs: [] }, listener);
    calls.failAll(new NodeError("unavailable", "Away.", { retryAfterMs: 2000 }));
    expect(failed).toMatchObject([{ retryAfterMs: 2000 }, { retryAfterMs: 2000 }]);
    expect(failed[0]).not.toBe(failed[1]);
  });
});

test("an error comes out of the channel as it went in", () => {
  const error = new NodeError("overloaded", "Busy.", { param: "messages", retryAfterMs: 1500 });
  const { kind, message, param, retryAfterMs } = error;
  expect(fromSentError(structuredClone(toSentError(error)))).toMatchObject({
    ...{ kind, message, param, retryAfterMs },
  });
});
