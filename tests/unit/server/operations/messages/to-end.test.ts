import { expect, test } from "bun:test";
import { toEnd } from "../../../../../src/server/operations/messages/to-end.ts";
import { finish } from "../../../../support/scripted-engines.ts";

const bounds = { stops: ["END"], maxTokens: 10, contextSize: 20 };
const none = { stop_sequence: null, stop_details: null, container: null };
const used = (promptTokens: number, completionTokens: number) => ({
  usage: { ...finish.usage, promptTokens, completionTokens },
});

test.each([
  ["by itself", {}, "end_turn"],
  ["at a text that is not the caller's", { stop: "[1]" }, "end_turn"],
  ["with calls", { reason: "tool_calls" }, "tool_use"],
  ["at its most tokens", { reason: "length", ...used(5, 10) }, "max_tokens"],
  ["at its most tokens and the context's", { reason: "length", ...used(10, 10) }, "max_tokens"],
  ["before a call that has no room", { reason: "length", ...used(5, 8) }, "max_tokens"],
  [
    "where the context is full",
    { reason: "length", ...used(15, 5) },
    "model_context_window_exceeded",
  ],
] as const)("an answer that ends %s", (_, more, reason) => {
  expect(toEnd({ ...finish, ...more }, bounds)).toEqual({ ...none, stop_reason: reason });
});

test("an answer that ends at a stop sequence names it", () => {
  expect(toEnd({ ...finish, stop: "END" }, bounds)).toEqual({
    ...none,
    stop_reason: "stop_sequence",
    stop_sequence: "END",
  });
});

test("an answer that is filtered is a refusal", () => {
  expect(toEnd({ ...finish, reason: "content_filter" }, bounds)).toEqual({
    ...none,
    stop_reason: "refusal",
    stop_details: { type: "refusal", category: null, explanation: null },
  });
});
