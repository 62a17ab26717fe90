/** How far a pull is and how it ended, in words. */
import type { ModelList } from "../../client/wire.ts";
import { byteSize } from "../../core/byte-size.ts";
import { pace, timeLeft } from "../../core/progress.ts";
import type { Failure } from "../failure.ts";

type Pulling = NonNullable<ModelList["pulling"]>;

export interface PullProgress extends Pulling {
  /** Bytes a second. */
  rate: number;
}

export interface PullEnd {
  source: string;
  /** Absent if it failed, or if the node does not serve it. */
  model?: string | undefined;
  failure?: Failure;
  isCancelled?: boolean;
}

/** Tells the speed of each step of a pull. */
export function follow(): (state: Pulling) => PullProgress {
  let step = "";
  let rateAt = pace(0);
  return ({ source, label, completed, total }) => {
    const now = [source, label, total].join("\n");
    if (now !== step) rateAt = pace(completed);
    step = now;
    return { source, label, completed, total, rate: rateAt(completed) };
  };
}

/** The share in whole percent; undefined if the size is not known. */
export const percentOf = ({ completed, total }: Pulling): number | undefined =>
  total === 0 ? undefined : Math.min(100, Math.floor((completed / total) * 100));

export function progressText(state: PullProgress): string {
  const { label, completed, total, rate } = state;
  if (completed === 0) return `${label} …`;
  const percent = percentOf(state);
  const share =
    percent === undefined
      ? byteSize(completed)
      : `${percent} %, ${byteSize(completed)} of ${byteSize(total)}`;
  const speed = rate > 0 ? `, ${byteSize(rate)}/s` : "";
  return `${share}${speed}${percent === undefined ? "" : timeLeft(total - completed, rate, ", ")}`;
}

export function wordsOf({ source, model, failure, isCancelled: wasCancelled }: PullEnd): string {
  if (wasCancelled === true) return "Cancelled. What is here already stays for the next try.";
  if (failure !== undefined) return failure.message;
  if (model !== undefined) return `${model} is here, and answers.`;
  return `${source} is here. This node's configuration does not serve it ([models_folder] serve).`;
}
