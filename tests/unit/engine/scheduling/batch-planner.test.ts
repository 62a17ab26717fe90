import { describe, expect, test } from "bun:test";
import { RunningAnswer } from "../../../../src/engine/scheduling/answer.ts";
import { BatchPlanner } from "../../../../src/engine/scheduling/batch-planner.ts";
import { KvCache } from "../../../../src/engine/scheduling/kv-cache.ts";
import { promptOf, ScriptedAnswer, ScriptedContext } from "../../../support/scripted-context.ts";

const cache = new KvCache(new ScriptedContext({ sequences: 10, batchSize: 512 }));

class ScoredAnswer extends ScriptedAnswer {
  readonly promptScores = { scorer: { logitsOf: never }, top: 1, take: () => {} };
}

function never(): never {
  throw new Error("Nothing is scored here.");
}

const scored = (id: number, prompt: number): RunningAnswer => run(id, prompt, false, true);

/** A prompt of so many tokens, or an answer that runs. */
function run(id: number, prompt?: number, fresh = false, scored = false): RunningAnswer {
  const sequence = cache.sequences[id];
  if (sequence === undefined) throw new Error("no such sequence");
  const made = new RunningAnswer({
    sequence,
    prompt: promptOf(prompt ?? 1),
    fresh,
    source: undefined,
    evictionTarget: () => undefined,
    scope: undefined,
    answer: scored ? new ScoredAnswer(100) : new ScriptedAnswer(100),
  });
  made.prepared = true;
  made.inPrefill = prompt !== undefined;
  made.pending = promptOf(prompt ?? 1);
  return made;
}

function setUp() {
  const planner = new BatchPlanner({ batchSize: 512, needsCheckpoints: false });
  /** Plans, and says that it took so long; the sequences and their tokens. */
  const step = (runs: RunningAnswer[], ms: number): [number, number][] => {
    const parts = planner.plan(runs);
    const answers = parts.filter(({ run: { decodes } }) => decodes).length;
    const total = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
    for (const { run: of, tokens } of parts) if (!of.decodes) of.pending.splice(0, tokens.length);
    planner.took({ answers, promptTokens: total - answers, ms });
    return parts.map(({ run: { sequence }, tokens }) => [sequence.id, tokens.length]);
  };
  return { planner, step };
}

describe("prompts beside answers", () => {
  test("are evaluated for a time, then the answers have a step", () => {
    const { step } = setUp();
    const runs = [run(0), run(1, 5000)];
    expect(step([run(0)], 10)).toEqual([[0, 1]]);
    // Nothing was measured yet.
    expect(step(runs, 64)).toEqual([[1, 64]]);
    expect(step(runs, 136)).toEqual([[1, 136]]);
    expect(step(runs, 10)).toEqual([[0, 1]]);
    expect(step(runs, 200)).toEqual([[1, 200]]);
    expect(step(runs, 10)).toEqual([[0, 1]]);
  });

  test("have two steps at the most, however short", () => {
    const { step } = setUp();
    step([run(0)], 10);
    step([run(1, 512)], 512);
    const runs = [run(0), run(1, 5000)];
    const sequences = Array.from({ length: 6 }, () => step(runs, 1)[0]?.[0]);
    expect(sequences).toEqual([1, 1, 0, 1, 1, 0]);
  });

  test("are evaluated whole where that takes at most twice the time", () => {
    const { step } = setUp();
    step([run(0)], 10);
    step([run(1, 100)], 100);
    expect(step([run(0), run(1, 400)], 400)).toEqual([[1, 400]]);
    step([run(0)], 10);
    expect(step([run(0), run(1, 401)], 200)).toEqual([[1, 200]]);
  });

  test("that come together are evaluated together where that takes at most twice the time", () => {
    const { step } = setUp();
    step([run(0)], 10);
    step([run(1, 100)], 100);
    expect(step([run(0), run(1, 132), run(2, 134), run(3, 133)], 396)).toEqual([
      [1, 132],
      [2, 132],
      [3, 132],
    ]);
    step([run(0)], 10);
    expect(step([run(0), run(1, 140), run(2, 140), run(3, 140)], 280)).toEqual([
      [1, 140],
      [2, 140],
    ]);
    step([run(0)], 10);
    // The second would not be complete.
    expect(step([run(0), run(1, 132), run(2, 150)], 132)).toEqual([[1, 132]]);
  });

  test("that lack a token or two are evaluated with the answers, a token in each step", () => {
    const { step } = setUp();
    step([run(0)], 10);
    const runs = [run(0), run(1, 2), run(2, 3)];
    expect(step(runs, 10)).toEqual([[2, 3]]);
    runs.pop();
    expect(step(runs, 10)).toEqual([
      [0, 1],
      [1, 1],
    ]);
    expect(runs[1]?.pending).toHaveLength(1);
    // Nobody answers.
    expect(step([run(1, 2)], 10)).toEqual([[1, 2]]);
  });

  test("that lack two tokens each, and are more than the answers, have a step of their own", () => {
    const { step } = setUp();
    step([run(0)], 10);
    expect(step([run(0), run(1, 2), run(2, 2)], 10)).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(step([run(0), run(1, 1), run(2, 2)], 10)).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
  });

  test("have more time where a token of the answers takes longer", () => {
    const { step } = setUp();
    step([run(0)], 50);
    step([run(1, 100)], 100);
    const runs = [run(0), run(1, 5000)];
    expect(step(runs, 400)).toEqual([[1, 400]]);
    expect(step(runs, 50)).toEqual([[0, 1]]);
  });

  test("get half of the time where a token takes seconds", () => {
    const { step } = setUp();
    step([run(0)], 3000);
    step([run(1, 100)], 10_000);
    const runs = [run(0), run(1, 5000)];
    expect(step(runs, 3000)).toEqual([[1, 30]]);
    expect(step(runs, 3000)).toEqual([[0, 1]]);
  });

  test("have all of their steps where nobody answers", () => {
    const { step } = setUp();
    const prompt = run(1, 1200);
    expect(step([prompt], 900)).toEqual([[1, 512]]);
    expect(step([prompt], 900)).toEqual([[1, 512]]);
    expect(step([prompt], 300)).toEqual([[1, 176]]);
  });
});

describe("a long prompt beside short ones that keep coming", () => {
  test("has every other step to itself", () => {
    const { step } = setUp();
    const long = run(0, 5000);
    const steps = Array.from({ length: 4 }, () => step([long, run(1, 1), run(2, 3)], 1));
    const shared: [number, number][] = [
      [0, 1],
      [1, 1],
      [2, 1],
    ];
    expect(steps).toEqual([shared, [[0, 512]], shared, [[0, 512]]]);
  });

  test("has them too where those fill theirs", () => {
    const { step } = setUp();
    const long = run(0, 5000);
    const steps = Array.from({ length: 4 }, () =>
      step([long, ...Array.from({ length: 9 }, (_, at) => run(at + 1, 128))], 1),
    );
    const shared = [1, 2, 3, 4].map((id): [number, number] => [id, 128]);
    expect(steps).toEqual([shared, [[0, 512]], shared, [[0, 512]]]);
  });

  test("lets them go first beside answers too, however little time prompts have there", () => {
    const { step } = setUp();
    step([run(0)], 10);
    step([run(1, 16)], 160);
    const runs = [run(0), run(1, 5000), run(2, 60)];
    const parts = Array.from({ length: 6 }, () => step(runs, 100)).flat();
    expect(parts.map(([id]) => id)).toEqual([2, 2, 0, 2, 1, 0]);
    expect(runs[2]?.pending).toHaveLength(0);
  });

  test("waits until they are done where that takes no longer than its step", () => {
    const { step } = setUp();
    step([run(3, 512)], 512);
    const runs = [run(0, 5000), run(1, 34), run(2, 36), run(4, 90)];
    const steps = [100, 20, 60, 500].map((ms) =>
      step(
        runs.filter(({ pending }) => pending.length > 0),
        ms,
      ),
    );
    const sequences = steps.map((parts) => parts.map(([id]) => id));
    expect(sequences).toEqual([[0, 1, 2, 4], [0, 2, 4], [0, 4], [0]]);
    expect(runs.slice(1).flatMap(({ pending }) => pending)).toEqual([]);
    expect(steps[3]).toEqual([[0, 512]]);
  });

  test("has as much time as they have", () => {
    const { step } = setUp();
    step([run(3, 512)], 512);
    const long = run(0, 50_000);
    const spent = { long: 0, shorts: 0 };
    for (let round = 0; round < 100; round++) {
      const [[first, tokens] = [0, 0]] = step([run(1, 100), long, run(2, 8)], 100);
      if (first === 0 && tokens > 100) spent.long += 100;
      else spent.shorts += 100;
    }
    expect(spent.long).toBeGreaterThan(spent.shorts / 2);
  });

  test("of about its length shares their steps", () => {
    const { step } = setUp();
    const runs = [run(0, 130), run(1, 100)];
    expect([step(runs, 1), step(runs, 1)]).toEqual([
      [
        [0, 100],
        [1, 100],
      ],
      [[0, 30]],
    ]);
  });
});

describe("short prompts beside much shorter ones that keep coming", () => {
  test("do not get as few tokens of each step as these", () => {
    const { step } = setUp();
    const older = run(0, 128);
    expect(step([older, run(1, 1), run(2, 3)], 1)).toEqual([[0, 128]]);
    const runs = [run(0, 128), run(1, 40), run(2, 9), run(3, 33)];
    expect(step(runs, 1)).toEqual([
      [0, 33],
      [1, 33],
      [3, 33],
    ]);
  });
});

test("a prompt with a seed does not wait for older ones without", () => {
  const { step } = setUp();
  const runs = [run(0, 5000), run(1, 600, true)];
  const steps = Array.from({ length: 4 }, () => step(runs, 1));
  expect(steps).toEqual([[[1, 512]], [[0, 512]], [[1, 88]], [[0, 512]]]);
});

describe("prompts with a seed", () => {
  test("have their steps in turn, so that a short one does not wait for a long one", () => {
    const { step } = setUp();
    const runs = [run(0, 5000, true), run(1, 5000, true), run(2, 20, true)];
    const steps = Array.from({ length: 5 }, () => step(runs, 1)[0]?.[0]);
    expect(steps).toEqual([0, 1, 2, 0, 1]);
  });

  test("do not wait for short ones that keep coming", () => {
    const { step } = setUp();
    const long = run(0, 5000, true);
    let short = run(1, 20, true);
    const steps = Array.from({ length: 4 }, () => {
      if (short.pending.length === 0) short = run(1, 20, true);
      return step([long, short], 1)[0]?.[0];
    });
    expect(steps).toEqual([0, 1, 0, 1]);
  });

  test("have as much time as short ones that keep coming", () => {
    const { planner } = setUp();
    const long = run(0, 50_000, true);
    let shorts = [1, 2, 3].map((id) => run(id, 20, true));
    const spent = { long: 0, shorts: 0 };
    for (let round = 0; round < 400; round++) {
      for (const { run: of, tokens } of planner.plan([long, ...shorts])) {
        spent[of === long ? "long" : "shorts"] += tokens.length;
        of.pending.splice(0, tokens.length);
        planner.took({ answers: 0, promptTokens: tokens.length, ms: tokens.length });
        shorts = shorts.filter((short) => short !== of);
        if (of !== long) shorts.push(run(of.sequence.id, 20, true));
      }
    }
    expect(Math.abs(spent.long - spent.shorts)).toBeLessThan((spent.long + spent.shorts) / 10);
  });
});

describe("prompts that have steps of their own", () => {
  test.each([
    ["with a seed", run(1, 100_000, true)],
    ["whose log probabilities are wanted", scored(1, 100_000)],
  ])("have as much time as the others: %s", (_, alone) => {
    const { planner } = setUp();
    const runs = [run(0), alone, run(2, 100_000)];
    const spent = { own: 0, others: 0 };
    for (let round = 0; round < 400; round++) {
      for (const { run: of, tokens } of planner.plan(runs)) {
        const promptTokens = of.decodes ? 0 : tokens.length;
        if (promptTokens > 0) spent[of === alone ? "own" : "others"] += promptTokens;
        of.pending.splice(0, promptTokens);
        planner.took({ answers: of.decodes ? 1 : 0, promptTokens, ms: 10 * tokens.length });
      }
    }
    const { own, others } = spent;
    expect(Math.abs(own - others)).toBeLessThan((own + others) / 10);
  });

  test("have as much time each, however few tokens they have of a step", () => {
    const { step } = setUp();
    const runs = [scored(0, 1000), run(1, 5000, true)];
    const few = Array.from({ length: 16 }, () => 32);
    const sequences = [32, 512, ...few, 1].map((ms) => step(runs, ms)[0]?.[0]);
    expect(sequences).toEqual([0, 1, ...few.map(() => 0), 1]);
  });

  test("have as many tokens of a step beside answers as there is time for, if they have a seed, in whole tiles of attention", () => {
    const { step } = setUp();
    step([run(0)], 10);
    // A token of a prompt takes 1 ms, then 40.
    step([run(1, 100)], 100);
    expect(step([run(0), run(1, 5000, true)], 200)).toEqual([[1, 192]]);
    step([run(0)], 10);
    for (let at = 0; at < 20; at++) step([run(1, 100)], 4000);
    expect(step([run(0), run(1, 5000, true)], 2560)).toEqual([[1, 64]]);
    expect(step([run(1, 5000, true)], 1)).toEqual([[1, 512]]);
  });

  test("end in parts as they would alone, if they have a seed, however many have been before", () => {
    const { step } = setUp();
    step([run(0)], 10);
    for (let at = 0; at < 20; at++) step([run(1, 100)], 4000);
    for (const length of [1, 63, 64, 127, 128, 575, 576, 1000, 1024, 1184]) {
      const prompt = run(1, length, true);
      const parts: number[] = [];
      while (prompt.pending.length > 0) {
        for (const [id, tokens] of step([run(0), prompt], 2560)) if (id === 1) parts.push(tokens);
      }
      // What is computed a token at a time: a rest of fewer than 64 after whole batches.
      const few = parts.filter((tokens) => tokens < 64);
      expect(few).toEqual(length % 512 < 64 && length % 512 > 0 ? [length % 512] : []);
    }
  });
});

describe("a prompt whose log probabilities are wanted", () => {
  test("lets longer ones go on beside it", () => {
    const { step } = setUp();
    const runs = [scored(0, 1000), run(1, 600)];
    const steps = Array.from({ length: 4 }, () => step(runs, 1));
    expect(steps).toEqual([[[0, 32]], [[1, 512]], [[0, 32]], [[1, 88]]]);
  });

  test("goes on beside others that keep coming", () => {
    const { step } = setUp();
    const [long, short] = [scored(0, 1000), scored(2, 20)];
    const steps = Array.from({ length: 5 }, () => step([long, run(1, 40), short], 1)[0]);
    expect(steps).toEqual([
      [0, 32],
      [1, 40],
      [2, 20],
      [1, 40],
      [0, 32],
    ]);
  });

  test("has a few tokens of a step beside answers", () => {
    const { step } = setUp();
    step([run(0)], 10);
    const runs = [run(0), scored(1, 100), run(2, 60)];
    const steps = Array.from({ length: 4 }, () => step(runs, 1)[0]);
    expect(steps).toEqual([
      [1, 8],
      [2, 60],
      [0, 1],
      [1, 8],
    ]);
  });
});

describe("after a step in which the process was stopped for an hour", () => {
  const hour = 3_600_000;

  test("answers wait no longer than otherwise for prompts", () => {
    const { step } = setUp();
    step([run(0)], 10);
    step([run(1, 100)], 1000);
    const runs = [run(0), run(1, 5000)];
    expect(step(runs, 200)).toEqual([[1, 20]]);
    expect(step(runs, hour)).toEqual([[0, 1]]);
    expect(step(runs, 1000)).toEqual([[1, 100]]);
    expect(step(runs, 10)).toEqual([[0, 1]]);
  });

  test.each([
    ["a long prompt", run(0, 100_000), run(1, 8)],
    ["one with a seed", run(0, 100_000, true), run(1, 100_000)],
    ["one without a seed", run(1, 100_000), run(0, 100_000, true)],
  ])("%s, whose step it was, and the other have steps by turns", (_, own, other) => {
    const { planner } = setUp();
    const next = (isStopped: boolean): "own" | "other" => {
      const parts = planner.plan([other, own]);
      const who = parts.some(({ run: of }) => of === other) ? "other" : "own";
      const promptTokens = parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
      planner.took({ answers: 0, promptTokens, ms: isStopped && who === "own" ? hour : 100 });
      return who;
    };
    for (let at = 0; at < 50; at++) next(false);
    while (next(true) !== "own");
    const steps = { own: 0, other: 0 };
    for (let at = 0; at < 100; at++) steps[next(false)]++;
    expect(Math.min(steps.own, steps.other)).toBeGreaterThan(25);
  });
});
