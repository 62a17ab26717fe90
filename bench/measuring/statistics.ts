/** Medians and spreads of repeated runs. */

export interface Measured {
  median: number;
  /** The smallest and the largest. */
  low: number;
  high: number;
}

export function measured(values: readonly number[]): Measured {
  const sorted = values.toSorted((a, b) => a - b);
  // Of an even number, halfway between the two in the middle.
  const [below, above] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return {
    median: ((below ?? Number.NaN) + (above ?? Number.NaN)) / 2,
    low: sorted[0] ?? Number.NaN,
    high: sorted.at(-1) ?? Number.NaN,
  };
}

/** The ratio of each pair, so that noise that hits both falls out. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Measured {
  return measured(ours.map((value, index) => value / (theirs[index] ?? Number.NaN)));
}
