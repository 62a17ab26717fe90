import { expect, spyOn, test } from "bun:test";
import { nextTurn } from "../../../../src/core/turns.ts";
import { LoopYield } from "../../../../src/engine/tokenizer/sliced-tokenizer.ts";

test("gives long work of several requests a turn of the loop each", async () => {
  let now = performance.now();
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  const workers = 8;
  let running = workers;
  let steps = 0;
  const work = async (): Promise<void> => {
    const loop = new LoopYield();
    for (let step = 0; step < 5; step += 1) {
      now += 20;
      steps += 1;
      await loop.yieldIfDue();
    }
    running -= 1;
  };
  const all = Array.from({ length: workers }, work);
  const stepsOfTurns: number[] = [];
  while (running > 0) {
    steps = 0;
    await nextTurn();
    stepsOfTurns.push(steps);
  }
  await Promise.all(all);
  expect(Math.max(...stepsOfTurns)).toBe(1);
});
