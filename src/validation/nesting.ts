/** How deep a value may nest: what walks it later does so by calling itself. */

/** Far more than a schema that a grammar can hold. */
export const deepestNesting = 256;

/** Level by level rather than by recursion, which a hostile depth would break. */
export function isTooDeep(value: unknown): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === deepestNesting) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

const isContainer = (value: unknown): value is object =>
  typeof value === "object" && value !== null;
