/** How long work shows itself: a step is announced, advances, and ends. */

export interface ProgressStep {
  /** Sets how much is done, in the step's unit; `note` says more, where that is not what a person counts. */
  update(done: number, note?: string): void;
  /** Ends the step; `note` says what came of it. */
  finish(note?: string): void;
}

export interface Progress {
  /** Announces a step; `total` 0 means that its size is not known; `from`: how much was done before. */
  step(
    label: string,
    total: number,
    unit: "bytes" | "passages" | "percent",
    from?: number,
  ): ProgressStep;
}

/** For work of one step, of which only the share that is done is told, from 0 to 1. */
export const shareOf = (tell: (done: number) => void): Progress => ({
  step: (_label, total) => ({
    update: (done) => tell(total > 0 ? Math.min(1, done / total) : 0),
    finish: () => {},
  }),
});

/** For work that nobody watches. */
export const noProgress: Progress = { step: () => ({ update: () => {}, finish: () => {} }) };
