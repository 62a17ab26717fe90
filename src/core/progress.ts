/** Port: shows the progress of long work, in steps. */

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
