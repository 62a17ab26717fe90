/** Limits on the work of compiling one request's schemas, and on what their grammar costs llama.cpp. */

/** Sub-schemas visited, keywords merged, and parts of patterns built, for all schemas of a request. */
export const mostSchemaSteps = 100_000;
/** Levels that schemas may be nested in each other, references included. */
export const deepestSchema = 64;
/** Characters of the grammar's text. */
export const mostGrammarCharacters = 1_000_000;
/** Elements that llama.cpp makes of the text; a repetition counts as often as it may repeat. */
export const mostGrammarElements = 300_000;
/** Rules that llama.cpp visits in search of left recursion, each as often as a rule begins with it. */
export const mostLeftmostVisits = 300_000;
/** Rules that begin with one another; llama.cpp follows them on its stack. */
export const deepestLeftmostChain = 5_000;
/** Readings of an answer that a grammar may keep open at one time. */
export const mostOpenReadings = 128;
/** Optional properties of one object: each is an open reading where the next may begin. */
export const mostOptionalProperties = 500;
/** Characters that may come next at one place of a pattern or of an enum, told apart by what follows. */
export const mostBranches = 1_000;
/** Characters of one pattern. */
export const mostPatternCharacters = 10_000;
/** Groups of a pattern inside each other. */
export const deepestPattern = 100;
/** States of the automaton that a pattern becomes. */
export const mostPatternStates = 4_000;

/** A limit that was met; the message says which, for the field that met it. */
export class OverBudget extends Error {}

/** Counts the steps of one request. */
export class Budget {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }

  spend(steps = 1): void {
    this.#steps += steps;
    if (this.#steps <= mostSchemaSteps) return;
    throw new OverBudget(
      `takes more than ${mostSchemaSteps} steps to compile; parts that are combined in many ways count each time`,
    );
  }

  /** Whether two values are the same JSON, at the price of writing them. */
  same(a: unknown, b: unknown): boolean {
    return a === b || this.json(a) === this.json(b);
  }

  /** A value as JSON. */
  json(value: unknown): string {
    const text = JSON.stringify(value) ?? "";
    this.spend(1 + Math.floor(text.length / charactersOfOneStep));
    return text;
  }
}

/** Writing so much JSON takes about as long as visiting a sub-schema. */
const charactersOfOneStep = 64;
