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

  test("make room for a caller with fewer, at the cost of the one with the most", () => {
    const calls = new PendingCalls(() => {});
    const failed: string[] = [];
    const full = new NodeError("overloaded", "Full.");
    const add = (name: string, caller: string) => {
      const listener = { hear: () => {}, fail: () => void failed.push(name) };
      return calls.add({ type: "embed", inputs: [name], caller }, listener);
    };
    add("sent", "ada");
    calls.dispatchTo({ send: () => {} });
    expect(calls.makeRoom("bob", full)).toBe(false);
    add("first", "ada");
    add("last", "ada");
    expect(calls.makeRoom("ada", full)).toBe(false);
    expect(calls.makeRoom("bob", full)).toBe(true);
    add("other", "bob");
    expect(calls.makeRoom("bob", full)).toBe(false);
    expect([failed, calls.size]).toEqual([["last"], 3]);
  });

  describe("that are large", () => {
    const sending = () => {
      const calls = new PendingCalls(() => {});
      const sent: number[] = [];
      const process = {
        send: (message: ToRunner) => void (message.type === "call" && sent.push(message.id)),
      };
      const add = (length: number) =>
        calls.add({ type: "embed", inputs: ["a".repeat(length)] }, nobody);
      const read = () => {
        calls.receive([{ id: sent.at(-1) ?? 0, item: { type: "read" } }]);
        calls.dispatchTo(process);
      };
      return { calls, sent, process, add, read };
    };

    test("are sent one after the other, and small ones do not wait", () => {
      const { calls, sent, process, add, read } = sending();
      const [first, second, small] = [add(100_000), add(100_000), add(1)];
      calls.dispatchTo(process);
      expect(sent).toEqual([small, first]);
      read();
      expect(sent).toEqual([small, first, second]);
      calls.loseProcess(new NodeError("unavailable", "Away."));
      calls.dispatchTo(process);
      expect(sent.slice(3)).toEqual([small, first]);
    });

    test("are sent by turns: the smallest one, and the one that waits longest", () => {
      const { calls, sent, process, add, read } = sending();
      const huge = [1, 2, 3, 4].map(() => add(1_000_000));
      calls.dispatchTo(process);
      const larger = [1, 2].map(() => add(100_000));
      for (let count = 0; count < 5; count++) read();
      expect(sent).toEqual([huge[0], larger[0], huge[1], larger[1], huge[2], huge[3]].map(Number));
    });
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
