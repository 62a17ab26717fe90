/** Which vectors a collection takes, whatever its store: one rule, and one sentence for each breach. */
import { NodeError } from "../errors.ts";

/** Refuses a vector of another dimension, and one that holds NaN or an infinity: it would compare with nothing. */
export function checkVector(
  vector: Float32Array,
  { name, dimension }: { name: string; dimension: number },
): void {
  if (vector.length !== dimension) {
    throw new NodeError(
      "invalid_request",
      `The collection '${name}' holds vectors of ${dimension} numbers; this one has ${vector.length}.`,
    );
  }
  const at = vector.findIndex((value) => !Number.isFinite(value));
  if (at === -1) return;
  throw new NodeError(
    "invalid_request",
    `The collection '${name}' holds vectors of finite numbers; this one has ${vector[at]} in place ${at}.`,
  );
}
