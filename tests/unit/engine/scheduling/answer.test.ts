import { describe, expect, test } from "bun:test";
import type { Token } from "node-llama-cpp";
import { StepWatch } from "../../../../src/engine/machine/steps.ts";
import type { PromptScores } from "../../../../src/engine/scheduling/answer.ts";
import { KvCache } from "../../../../src/engine/scheduling/kv-cache.ts";
import { Scheduler } from "../../../../src/engine/scheduling/scheduler.ts";
import { promptOf, ScriptedAnswer, ScriptedContext } from "../../../support/scripted-context.ts";
import { waitFor } from "../../../support/wait-for.ts";

/** An answer that wants the logits of its prompt, and keeps which output each came from. */
class ScoredAnswer extends ScriptedAnswer {
  readonly scored: { token: Token; output: number }[] = [];
  readonly promptScores: PromptScores = {
    top: 1,
    scorer: {
      logitsOf: async (token, output) => {
        this.scored.push({ token, output });
        return { token, logit: 0, top: [], weight: 1 };
      },
    },
    take: () => {},
  };
}

function setUp() {
  const context = new ScriptedContext({ sequences: 2, batchSize: 64 });
  const cache = new KvCache(context);
  const scheduler = new Scheduler(context, cache, new StepWatch());
  const start = (sequence: number, answer: ScriptedAnswer, prompt = promptOf(70)): void => {
    const own = cache.sequences[sequence];
    if (own === undefined) throw new Error("no such sequence");
    const rest = { source: undefined, evictionTarget: () => undefined, scope: undefined };
    scheduler.start({ sequence: own, prompt, fresh: false, answer, ...rest });
  };
  return { context, start };
}

describe("a prompt whose log probabilities are wanted", () => {
  test("is evaluated in small parts, and each token is found in the output of the one before", async () => {
    const { context, start } = setUp();
    const answer = new ScoredAnswer(2);
    start(0, answer);
    await waitFor("the answer", () => answer.complete);
    expect(context.shape).toEqual([[[0, 32]], [[0, 32]], [[0, 6]], [[0, 1]]]);
    expect(answer.scored.map(({ token }) => token)).toEqual(promptOf(70).slice(1));
    // The last part's last token is the one that the answer is sampled from.
    expect(answer.scored.map(({ output }) => output)).toEqual([
      ...Array.from({ length: 32 }, (_, at) => at),
      ...Array.from({ length: 32 }, (_, at) => at),
      ...Array.from({ length: 5 }, (_, at) => at),
    ]);
  });

  test("takes fewer tokens a step beside an answer", async () => {
    const { context, start } = setUp();
    const [running, scored] = [new ScriptedAnswer(30), new ScoredAnswer(1)];
    start(0, running, promptOf(4, 1000));
    running.onAccept = () => {
      if (running.accepted === 2) start(1, scored);
    };
    await waitFor("both answers", () => running.complete && scored.complete);
    const parts = context.shape.flatMap((step) => step.filter(([sequence]) => sequence === 1));
    expect(Math.max(...parts.map(([, tokens]) => tokens))).toBeLessThanOrEqual(8);
    expect(scored.scored).toHaveLength(69);
  });

  test("is evaluated whole, whatever was evaluated before", async () => {
    const { start } = setUp();
    const [first, second] = [new ScoredAnswer(1), new ScoredAnswer(1)];
    start(0, first);
    await waitFor("the first", () => first.complete);
    start(0, second);
    await waitFor("the second", () => second.complete);
    expect([first.cachedTokens, second.cachedTokens]).toEqual([0, 0]);
    expect(second.scored).toHaveLength(69);
  });
});
