/** Medians and spreads of repeated runs. */

export interface Measured {
  median: number;
  /** The smallest and the largest. */
  low: number;
  high: number;
}

export function measured(values: readonly number[]): Measured {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    low: sorted[0] ?? Number.NaN,
    high: sorted.at(-1) ?? Number.NaN,
  };
}

/** The ratio of each pair, so that noise that hits both falls out. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Measured {
  return measured(ours.map((value, index) => value / (theirs[index] ?? Number.NaN)));
}
