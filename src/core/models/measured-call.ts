/** Counts and times a call of a model that has one result. */
import type { Report } from "../ports/telemetry.ts";
import type { ModelType } from "./model.ts";
import type { ModelActivity } from "./model-activity.ts";

interface CalledModel {
  model: string;
  modelType: ModelType;
  activity: ModelActivity;
}

interface CallListener {
  report: Report;
  /** Called once, when the call leaves the line. */
  onStart: (() => void) | undefined;
}

/** `work` says when it starts; the times are those from when it was asked for to its end. */
export async function measuredCall<Result>(
  { model, modelType, activity }: CalledModel,
  { report, onStart }: CallListener,
  work: (start: () => void) => Promise<Result>,
): Promise<{ result: Result; from: number; to: number }> {
  const call = activity.call();
  const from = performance.now();
  let waits = true;
  const start = (): void => {
    if (!waits) return;
    waits = false;
    call.start();
    report({ type: "started", model, modelType, waitedMs: performance.now() - from });
    onStart?.();
  };
  try {
    return { result: await work(start), from, to: performance.now() };
  } finally {
    call.end();
  }
}
