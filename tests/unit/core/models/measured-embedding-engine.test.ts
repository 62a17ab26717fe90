import { describe, expect, test } from "bun:test";
import { MeasuredEmbeddingEngine } from "../../../../src/core/models/measured-embedding-engine.ts";
import { ModelActivity } from "../../../../src/core/models/model-activity.ts";
import type { WorkEvent } from "../../../../src/core/ports/telemetry.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { ScriptedEmbeddingEngine } from "../../../support/scripted-engines.ts";

const { signal } = new AbortController();
const moment = expect.any(Number);

function measured(inner = new ScriptedEmbeddingEngine()) {
  const activity = new ModelActivity({ name: "m" });
  const events: WorkEvent[] = [];
  const report = (event: WorkEvent): void => void events.push(event);
  return { engine: new MeasuredEmbeddingEngine("m", inner, activity), activity, events, report };
}

/** Fails once it is at work. */
class FailingEngine extends ScriptedEmbeddingEngine {
  override async embed(): Promise<never> {
    throw new Error("broken");
  }
}

describe("a measured embedding engine", () => {
  test("gives the engine's vectors, and reports the wait and the work", async () => {
    const { engine, activity, events, report } = measured();
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
    const { engine, activity, events, report } = measured(new FailingEngine());
    expect(await rejectionOf(engine.embed(["a"], { signal, report }))).toMatchObject({
      message: "broken",
    });
    expect(events).toEqual([]);
    expect(activity).toMatchObject({ waiting: 0, inUse: 0 });
  });

  test("is as large as the engine is", async () => {
    const { engine } = measured();
    expect([engine.dimension, engine.maxTokens, engine.vocabularySize]).toEqual([2, 8, 100]);
    expect(await engine.countTokens(["one two"])).toEqual([2]);
  });
});
