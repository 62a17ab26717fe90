/** Port: shows the progress of long work, in steps; how fast it advances, and how long the rest takes. */

export interface ProgressStep {
  /** Sets how much is done, in the step's unit; `note`: more detail for a person. */
  update(done: number, note?: string): void;
  finish(note?: string): void;
}

export interface Progress {
  /** Begins a step; `total` 0: its size is not known; `from`: how much was done before. */
  step(
    label: string,
    total: number,
    unit: "bytes" | "passages" | "percent",
    from?: number,
  ): ProgressStep;
}

/** For work of one step: calls `tell` with the share that is done, 0 to 1. */
export const shareOf = (tell: (done: number) => void): Progress => ({
  step: (_label, total) => ({
    update: (done) => tell(total > 0 ? Math.min(1, done / total) : 0),
    finish: () => {},
  }),
});

export const noProgress: Progress = { step: () => ({ update: () => {}, finish: () => {} }) };

/** Rates are averaged over this time, since older speeds do not predict the rest. */
const recentMs = 10_000;
const markMs = 100;

/** The rate of work that began at `from`, in amounts a second. */
export function pace(from: number): (done: number) => number {
  const marks = [{ at: performance.now(), done: from }];
  return (done) => {
    const now = performance.now();
    const last = marks.at(-1);
    if (last === undefined || now - last.at >= markMs) marks.push({ at: now, done });
    while (marks.length > 2 && now - (marks[1]?.at ?? now) > recentMs) marks.shift();
    const [first = { at: now, done }] = marks;
    return (done - first.done) / Math.max((now - first.at) / 1000, 0.001);
  };
}

/** Empty if the rate says nothing. `before`: what separates it from the text before it. */
export function timeLeft(amountLeft: number, rate: number, before: string): string {
  if (rate <= 0) return "";
  const seconds = Math.max(0, Math.ceil(amountLeft / rate));
  const minutes = Math.ceil(seconds / 60);
  if (seconds < 90) return `${before}${seconds} s left`;
  if (minutes < 90) return `${before}${minutes} min left`;
  return `${before}${(minutes / 60).toFixed(1)} h left`;
}
