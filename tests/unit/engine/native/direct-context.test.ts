import { describe, expect, test } from "bun:test";
import type { LlamaContext, LlamaModel, Token } from "node-llama-cpp";
import type { CInterface } from "../../../../src/engine/native/c-interface.ts";
import { DirectContext } from "../../../../src/engine/native/direct-context.ts";
import type { NativePointer, StepSize } from "../../../../src/engine/native/native-step.ts";
import { promptOf } from "../../../support/scripted-context.ts";

/** What the context asks of the library, and what it does with it. */
function setUp() {
  const done: string[] = [];
  const step = {
    outputs: new Int8Array(8),
    samplers: new BigUint64Array(8),
    add: (at: number, _: number, __: number, tokens: readonly Token[]) => at + tokens.length,
    run: async ({ mostTimes = 1 }: StepSize) => {
      done.push(`run ${mostTimes}`);
      return mostTimes;
    },
    halt: () => done.push("halt"),
    sampledAt: (_: number, time: number) => 7 + time,
    [Symbol.dispose]: () => done.push("end"),
  };
  const c = {
    contextOf: () => 1,
    step: () => step,
    freeSampler: (sampler: number) => done.push(`free ${sampler}`),
    freeGrammar: (grammar: number) => done.push(`free grammar ${grammar}`),
  };
  const methods = ["initBatch", "addToBatch", "decodeBatch", "sampleToken", "getEmbedding"];
  const more = ["removeTokenCellsFromSequence", "getSequenceKvCacheMinPosition", "setThreads"];
  const rest = ["copySequenceStateFromOtherSequence", "restoreCheckpoint"];
  const raw = Object.fromEntries([...methods, ...more, ...rest].map((name) => [name, () => {}]));
  const context = { _ctx: raw, batchSize: 8, totalSequences: 2 };
  const direct = new DirectContext(
    c as unknown as CInterface,
    context as unknown as LlamaContext,
    { _model: {} } as unknown as LlamaModel,
    { mayWait: false },
  );
  const prepare = () =>
    direct.prepare(
      [
        {
          sequence: 0,
          position: 3,
          tokens: promptOf(1),
          output: true,
          sampler: { chain: 5 as NativePointer },
        },
      ],
      1,
      { mostTimes: 40 },
    );
  return { done, direct, prepare };
}

describe("a step that may be computed several times", () => {
  test("is computed once if it is halted before it begins", async () => {
    const { done, direct, prepare } = setUp();
    const step = prepare();
    direct.halt();
    expect(await step.compute(1)).toBe(1);
    const sampled = promptOf(1, 7).map((token) => ({ token }));
    expect(step.outputs()).toEqual([{ output: 0, sampled }]);
    expect(await prepare().compute(1)).toBe(40);
    expect(done).toEqual(["halt", "run 1", "run 40"]);
  });

  test("is not touched any more once it has ended, or the context with it", async () => {
    const { done, direct, prepare } = setUp();
    await prepare().compute(1);
    direct.halt();
    prepare();
    direct[Symbol.dispose]();
    direct.halt();
    expect(done).toEqual(["run 40", "end"]);
  });

  test("keeps its samplers and grammars until it has ended, also those that nobody wants any more", async () => {
    const { done, direct, prepare } = setUp();
    const step = prepare();
    direct.freeSampler(5 as NativePointer);
    direct.freeGrammar(8 as NativePointer);
    await step.compute(1);
    direct.freeSampler(6 as NativePointer);
    direct.freeGrammar(9 as NativePointer);
    expect(done).toEqual(["run 40", "free 5", "free grammar 8", "free 6", "free grammar 9"]);
  });
});
