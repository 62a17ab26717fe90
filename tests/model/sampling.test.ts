import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatModel } from "../../src/core/models/model.ts";
import type { GenerationRequest, Sampling } from "../../src/core/ports/chat-engine.ts";
import { greedy } from "../support/greedy.ts";
import { neutralSettings, tinyChatModel } from "../support/tiny-engines.ts";

const draws = 300;
const plain: Sampling = { ...greedy, temperature: 1 };
/** What is drawn with: sharp enough for some tokens to be drawn often. */
const drawingTemperature = 0.5;
/** More alternatives than the OpenAI API lets a caller ask for: here, the whole vocabulary. */
const everyToken = 1000;

/** Special tokens and single bytes, which are no text by themselves, are never drawn. */
const unprintable = new Map(Array.from({ length: 3 + 256 }, (_, id) => [id, -100]));

let model: ChatModel;
beforeAll(async () => {
  model = await tinyChatModel({ parallel: 8, settings: { ...neutralSettings, ctxSize: 128 } });
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
});

const request = (sampling: Sampling, more: Partial<GenerationRequest> = {}): GenerationRequest => ({
  messages: [{ role: "user", content: "D" }],
  maxTokens: 1,
  sampling,
  logitBias: unprintable,
  ...more,
});

type Likelihood = [bytes: string, probability: number];

/** The tokens that an answer's first place can have, likeliest first. */
async function distribution(sampling: Sampling): Promise<Likelihood[]> {
  const [event] = await firstEvents(request(sampling, { topLogprobs: everyToken, seed: 1 }));
  return (event?.top ?? []).map(({ bytes, logprob }) => [bytes.join(), Math.exp(logprob)]);
}

async function firstEvents(asked: GenerationRequest) {
  const { signal } = new AbortController();
  const events = await Array.fromAsync(model.engine.generate(asked, { signal }));
  return events.flatMap((event) => (event.type === "text" ? (event.logprobs ?? []) : []));
}

/** How often each token was drawn, with seeds so that it is the same each time. */
async function drawn(sampling: Sampling): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let seed = 0; seed < draws; seed += 50) {
    const some = Array.from({ length: 50 }, (_, at) =>
      firstEvents(
        request(
          { ...sampling, temperature: drawingTemperature },
          { topLogprobs: 0, seed: seed + at },
        ),
      ),
    );
    for (const [event] of await Promise.all(some)) {
      const token = event?.bytes.join() ?? "end";
      counts.set(token, (counts.get(token) ?? 0) + 1);
    }
  }
  return counts;
}

/** Pearson's statistic over the likeliest tokens, the rest of them as one; and its degrees of freedom. */
function chiSquare(expected: readonly Likelihood[], counts: ReadonlyMap<string, number>) {
  const frequent = expected.filter(([, probability]) => probability * draws >= 10);
  let [statistic, restExpected, restCount] = [0, draws, draws];
  for (const [token, probability] of frequent) {
    const count = counts.get(token) ?? 0;
    statistic += (count - probability * draws) ** 2 / (probability * draws);
    restExpected -= probability * draws;
    restCount -= count;
  }
  if (restExpected >= 10) statistic += (restCount - restExpected) ** 2 / restExpected;
  return { statistic, freedom: frequent.length - (restExpected >= 10 ? 0 : 1) };
}

/** What a temperature of a half makes of them. */
function sharpened(all: readonly Likelihood[]): Likelihood[] {
  const sum = all.reduce((total, [, probability]) => total + probability ** 2, 0);
  return all.map(([bytes, probability]) => [bytes, probability ** 2 / sum]);
}

/** The first of the sorted tokens that are kept, scaled to a sum of 1. */
function cut(
  all: readonly Likelihood[],
  kept: (probability: number, before: number, at: number) => boolean,
): Likelihood[] {
  let before = 0;
  const end = all.findIndex(([, probability], at) => {
    if (!kept(probability, before, at)) return true;
    before += probability;
    return false;
  });
  return all.slice(0, end).map(([bytes, probability]) => [bytes, probability / before]);
}

describe("a token is drawn from the distribution that was asked for", () => {
  const cases: [string, Sampling, (all: Likelihood[]) => Likelihood[]][] = [
    ["temperature alone", plain, (all) => all],
    ["top_k", { ...plain, topK: 5 }, (all) => cut(all, (_, __, at) => at < 5)],
    ["top_p", { ...plain, topP: 0.5 }, (all) => cut(all, (_, before) => before < 0.5)],
    ["min_p", { ...plain, minP: 0.3 }, (all) => cut(all, (p) => p >= 0.3 * (all[0]?.[1] ?? 0))],
  ];
  test.each(cases)("with %s", async (_, sampling, toExpected) => {
    const all = await distribution(plain);
    // The temperature comes after the filters.
    const expected = sharpened(toExpected(all));
    const counts = await drawn(sampling);
    const { statistic, freedom } = chiSquare(expected, counts);
    expect(freedom).toBeGreaterThan(1);
    // Far beyond what chance gives (mean + 5 deviations), far below what a wrong filter would.
    expect(statistic).toBeLessThan(freedom + 5 * Math.sqrt(2 * freedom));
    const possible = new Set(expected.map(([token]) => token));
    expect([...counts.keys()].filter((token) => !possible.has(token))).toEqual([]);
  });

  test("with temperature, which sharpens what it divides", async () => {
    const expected = sharpened(await distribution(plain));
    const halved = await distribution({ ...plain, temperature: drawingTemperature });
    for (const [at, [, probability]] of halved.slice(0, 20).entries()) {
      expect(probability).toBeCloseTo(expected[at]?.[1] ?? 0, 4);
    }
  });

  test("and the probabilities of all tokens are one together", async () => {
    const sum = (await distribution(plain)).reduce((total, [, p]) => total + p, 0);
    expect(sum).toBeCloseTo(1, 4);
  });
});
