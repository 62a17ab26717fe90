/** What the command line of a benchmark says. */

export const commonOptions = {
  runs: { type: "string", default: "5" },
  only: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

/** A whole number from 1 on, or an error that names the option. */
export function count(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`--${name} takes a whole number from 1 on, not '${text}'`);
  }
  return value;
}

/** The parts whose names contain what was asked for; all of them if nothing was. */
export function chosenParts<Name extends string>(
  names: readonly Name[],
  only: string | undefined,
): ReadonlySet<Name> {
  const chosen = names.filter((name) => only === undefined || name.includes(only));
  if (chosen.length === 0) throw new Error(`--only takes a part of one of: ${names.join(", ")}`);
  return new Set(chosen);
}
