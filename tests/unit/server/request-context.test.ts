import { expect, test } from "bun:test";
import type { FinishedWork } from "../../../src/core/ports/telemetry.ts";
import { usedTokens } from "../../../src/server/request-context.ts";

const answer = (
  cachedTokens: number,
  completionTokens: number,
): Extract<FinishedWork, { type: "answered" }> => ({
  type: "answered",
  model: "m",
  calledAt: 0,
  endedAt: 1,
  promptTokens: 10,
  generatedTokens: completionTokens,
  usage: { promptTokens: 10, cachedTokens, completionTokens, reasoningTokens: 0 },
});
const broken: Extract<FinishedWork, { type: "answered" }> = {
  type: "answered",
  model: "m",
  calledAt: 0,
  endedAt: 1,
  generatedTokens: 4,
};
const embedded: FinishedWork = {
  type: "embedded",
  model: "e",
  inputs: 2,
  tokens: 7,
  from: 0,
  to: 1,
};

const reranked: FinishedWork = {
  type: "reranked",
  model: "r",
  passages: 3,
  tokens: 20,
  from: 0,
  to: 1,
};

test.each([
  ["documents were judged", [reranked], { prompt: 20, completion: 0 }],
  [
    "a search judged the node's own passages, which its caller does not owe",
    [embedded, reranked],
    { prompt: 7, completion: 0 },
  ],
  ["nothing was computed", [], undefined],
  ["one answer", [answer(3, 5)], { prompt: 10, cached: 3, completion: 5 }],
  [
    "several answers, whose prompt counts once",
    [answer(0, 5), answer(9, 2)],
    { prompt: 10, cached: 0, completion: 7 },
  ],
  [
    "several answers to each of two prompts, which count once each",
    [
      { ...answer(0, 5), prompt: 0 },
      { ...answer(9, 2), prompt: 0 },
      { ...answer(4, 1), prompt: 1 },
      { ...answer(6, 1), prompt: 1 },
    ],
    { prompt: 20, cached: 4, completion: 9 },
  ],
  [
    "one of two prompts never left the line",
    [
      { ...answer(3, 5), prompt: 0 },
      { ...broken, generatedTokens: 0, prompt: 1 },
    ],
    { prompt: 10, cached: 3, completion: 5 },
  ],
  ["an answer that broke off before it began", [broken], { completion: 4 }],
  ["an answer that broke off", [{ ...broken, promptTokens: 10 }], { prompt: 10, completion: 4 }],
  ["one of two broke off", [broken, answer(3, 5)], { prompt: 10, cached: 3, completion: 9 }],
  ["texts", [embedded, embedded], { prompt: 14, completion: 0 }],
  [
    "an answer and its question",
    [embedded, answer(3, 5)],
    { prompt: 10, cached: 3, completion: 5 },
  ],
])("what was used: %s", (_, work, used) => {
  expect(usedTokens(work)).toEqual(used);
});
