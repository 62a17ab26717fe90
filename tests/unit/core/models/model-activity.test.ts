import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ModelActivities,
  ModelActivity,
  measuredChat,
  measuredEmbedding,
  TokenTally,
} from "../../../../src/core/models/model-activity.ts";
import type { CallOptions } from "../../../../src/core/ports/chat-engine.ts";
import type { WorkEvent } from "../../../../src/core/ports/telemetry.ts";
import { collect } from "../../../support/collect.ts";
import { greedy } from "../../../support/greedy.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import {
  finish,
  ScriptedChatEngine,
  ScriptedEmbeddingEngine,
} from "../../../support/scripted-engines.ts";

const state = ({ waiting, inUse }: ModelActivity) => ({ waiting, inUse });

test("a call waits, is served and ends; each is counted once", () => {
  const activity = new ModelActivity({ name: "m" });
  const call = activity.call();
  expect(state(activity)).toEqual({ waiting: 1, inUse: 0 });
  call.start();
  call.start();
  expect(state(activity)).toEqual({ waiting: 0, inUse: 1 });
  call.end();
  call.end();
  call.start();
  expect(state(activity)).toEqual({ waiting: 0, inUse: 0 });
});

test("a call that ends in line leaves it", () => {
  const activity = new ModelActivity({ name: "m" });
  activity.call().end();
  expect(state(activity)).toEqual({ waiting: 0, inUse: 0 });
});

test("a line is full when as many wait as may and no slot is free", () => {
  const activity = new ModelActivity({ name: "m", slots: 1, maxQueue: 1 });
  const first = activity.call();
  expect(activity.problem).toBeUndefined();
  first.start();
  expect(activity.problem).toBeUndefined();
  const second = activity.call();
  expect(activity.problem).toBe("The queue of the model 'm' is full: 1 waiting, 1 being answered.");
  first.end();
  second.start();
  expect(activity.problem).toBeUndefined();
});

test("a line of no length is full only while every slot is taken", () => {
  const activity = new ModelActivity({ name: "m", slots: 1, maxQueue: 0 });
  expect(activity.problem).toBeUndefined();
  activity.call().start();
  expect(activity.problem).toBeDefined();
});

test("calls of an upstream model keep this machine no busier", () => {
  const activities = new ModelActivities([{ name: "here" }, { name: "there", isUpstream: true }]);
  const [here, there] = activities.all();
  there?.call().start();
  expect(activities.isBusy).toBe(false);
  here?.call();
  expect(activities.isBusy).toBe(true);
});

test("a model without bounds is never full", () => {
  const activity = new ModelActivity({ name: "m" });
  for (let calls = 0; calls < 100; calls++) activity.call();
  expect(activity.problem).toBeUndefined();
});

const text = (value: string) => ({ type: "text", text: value }) as const;
const moment = expect.any(Number);

function measured() {
  const scripted = new ScriptedChatEngine();
  const activity = new ModelActivity({ name: "m" });
  const engine = measuredChat(scripted, activity);
  const events: WorkEvent[] = [];
  const generate = (options: Partial<CallOptions> = {}) =>
    engine.generate(
      { messages: [{ role: "user", content: "Two words" }], sampling: greedy },
      {
        signal: new AbortController().signal,
        report: (event) => events.push(event),
        ...options,
      },
    );
  return { scripted, activity, engine, events, generate };
}

describe("a measured chat engine", () => {
  test("counts no token for a prompt that is given back", async () => {
    const { scripted, events, generate } = measured();
    const echoed = { type: "text", text: "Once", echoed: true } as const;
    const usage = { ...finish.usage, completionTokens: 1 };
    scripted.script(echoed, text("a"), { ...finish, usage });
    await collect(generate());
    expect(events.filter(({ type }) => type === "tokens")).toEqual([
      { type: "tokens", model: "m", count: 1 },
    ]);
    expect(events.find(({ type }) => type === "answered")).toMatchObject({ generatedTokens: 1 });
  });

  test("gives the engine's events, and reports what happens between", async () => {
    const { scripted, events, generate } = measured();
    scripted.script(text("a"), text("b"), finish);
    expect(await collect(generate())).toEqual([text("a"), text("b"), finish]);
    expect(events).toEqual([
      { type: "started", model: "m", modelType: "chat", waitedMs: moment },
      { type: "first-token", model: "m" },
      { type: "tokens", model: "m", count: 1 },
      { type: "tokens", model: "m", count: 1 },
      {
        type: "answered",
        model: "m",
        calledAt: moment,
        startedAt: moment,
        promptTokens: finish.usage.promptTokens,
        firstTokenAt: moment,
        endedAt: moment,
        generatedTokens: 2,
        usage: finish.usage,
      },
    ]);
  });

  test("adds at the finish the tokens that events did not show", async () => {
    const { scripted, events, generate } = measured();
    const usage = { ...finish.usage, completionTokens: 7 };
    scripted.script(text("a"), { ...finish, usage });
    await collect(generate());
    const counts = events.flatMap((event) => (event.type === "tokens" ? [event.count] : []));
    expect(counts).toEqual([1, 6]);
  });

  test("reports an answer that failed in line without a start", async () => {
    const { scripted, activity, events, generate } = measured();
    scripted.line = Promise.reject(new Error("refused"));
    scripted.script(finish);
    expect(await rejectionOf(collect(generate()))).toMatchObject({ message: "refused" });
    expect(events).toEqual([
      { type: "answered", model: "m", calledAt: moment, endedAt: moment, generatedTokens: 0 },
    ]);
    expect(activity).toMatchObject({ waiting: 0, inUse: 0 });
  });

  test("reports what came of an answer that is left", async () => {
    const { scripted, activity, events, generate } = measured();
    scripted.script(text("a"), text("b"), finish);
    for await (const _ of generate()) {
      expect(activity).toMatchObject({ waiting: 0, inUse: 1 });
      break;
    }
    expect(scripted.ended).toBe(1);
    expect(activity).toMatchObject({ waiting: 0, inUse: 0 });
    expect(events.at(-1)).toEqual({
      type: "answered",
      model: "m",
      calledAt: moment,
      startedAt: moment,
      promptTokens: 2,
      firstTokenAt: moment,
      endedAt: moment,
      generatedTokens: 1,
    });
  });

  test("passes the start on to who asked", async () => {
    const { scripted, generate } = measured();
    let starts = 0;
    scripted.script(text("a"), finish);
    await collect(generate({ onStart: () => starts++ }));
    expect(starts).toBe(1);
  });

  test("counts and bounds as the engine does", async () => {
    const { engine } = measured();
    expect(engine.contextSize).toBe(128);
    expect(await engine.countTokens([{ role: "user", content: "one two" }])).toBe(2);
  });
});

const { signal } = new AbortController();

function measuredVectors(inner = new ScriptedEmbeddingEngine()) {
  const activity = new ModelActivity({ name: "m" });
  const events: WorkEvent[] = [];
  const report = (event: WorkEvent): void => void events.push(event);
  return { engine: measuredEmbedding(inner, activity), activity, events, report };
}

/** Fails once it is at work. */
class FailingEngine extends ScriptedEmbeddingEngine {
  override async embed(): Promise<never> {
    throw new Error("broken");
  }
}

describe("a measured embedding engine", () => {
  test("gives the engine's vectors, and reports the wait and the work", async () => {
    const { engine, activity, events, report } = measuredVectors();
    const inputs = ["one two", "three"];
    const own = await new ScriptedEmbeddingEngine().embed(inputs);
    let starts = 0;
    const onStart = (): void => void starts++;
    expect(await engine.embed(inputs, { signal, report, onStart })).toEqual(own);
    expect(starts).toBe(1);
    expect(events).toEqual([
      { type: "started", model: "m", modelType: "embedding", waitedMs: moment },
      { type: "embedded", model: "m", inputs: 2, tokens: 3, from: moment, to: moment },
    ]);
    expect(activity).toMatchObject({ waiting: 0, inUse: 0 });
  });

  test("reports no work that failed, and counts it no longer", async () => {
    const { engine, activity, events, report } = measuredVectors(new FailingEngine());
    expect(await rejectionOf(engine.embed(["a"], { signal, report }))).toMatchObject({
      message: "broken",
    });
    expect(events).toEqual([]);
    expect(activity).toMatchObject({ waiting: 0, inUse: 0 });
  });

  test("is as large as the engine is", async () => {
    const { engine } = measuredVectors();
    expect([engine.dimension, engine.maxTokens, engine.vocabularySize]).toEqual([2, 8, 100]);
    expect(await engine.countTokens(["one two"])).toEqual([2]);
  });
});

test("counts tokens as they come", () => {
  const tally = new TokenTally();
  expect([tally.add(1), tally.add(1), tally.add(3)]).toEqual([1, 1, 3]);
});

test("lets later tokens pay for those that were counted too many", () => {
  const tally = new TokenTally();
  expect([tally.add(3), tally.add(-2), tally.add(1), tally.add(1), tally.add(1)]).toEqual([
    3, 0, 0, 0, 1,
  ]);
});

test("never falls, is never below the truth, and meets it when the debt is paid", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 20 })), (steps) => {
      const tally = new TokenTally();
      let sum = 0;
      let truth = 0;
      for (const step of steps) {
        const grown = tally.add(step);
        expect(grown).toBeGreaterThanOrEqual(0);
        sum += grown;
        truth += step;
        expect(sum).toBeGreaterThanOrEqual(truth);
      }
      const debt = sum - truth;
      expect(sum + tally.add(debt)).toBe(truth + debt);
    }),
  );
});
