import { describe, expect, test } from "bun:test";
import { NodeError } from "../../../src/core/errors.ts";
import { PendingCalls } from "../../../src/runner/pending-calls.ts";
import {
  type Call,
  fromSentError,
  type ToRunner,
  toSentError,
} from "../../../src/runner/protocol.ts";

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

  test("are sent one after the other where they are large, and small ones do not wait", () => {
    const calls = new PendingCalls(() => {});
    const sent: number[] = [];
    const process = {
      send: (message: ToRunner) => void (message.type === "call" && sent.push(message.id)),
    };
    const add = (text: string) => calls.add({ type: "embed", inputs: [text] }, nobody);
    const large = "a".repeat(100_000);
    const [first, second, small] = [add(large), add(large), add("a")];
    calls.dispatchTo(process);
    expect(sent).toEqual([first, small]);
    calls.receive([{ id: first, item: { type: "read" } }]);
    calls.dispatchTo(process);
    expect(sent).toEqual([first, small, second]);
    calls.loseProcess(new NodeError("unavailable", "Away."));
    calls.dispatchTo(process);
    expect(sent.slice(3)).toEqual([first, small]);
  });

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
