/** Limits on compiling one request's schemas, and on the grammar that llama.cpp parses on the event loop. */

/** Sub-schemas visited, keywords merged, and parts of patterns built, for all schemas of a request. */
export const mostSchemaSteps = 100_000;
/** Levels that schemas may be nested in each other, references included. */
export const deepestSchema = 64;
/** Takes llama.cpp about 100 ms of CPU time to parse. */
export const mostGrammarCharacters = 1_000_000;
/** A rule that llama.cpp adds for a repetition takes as long to parse as these characters. */
export const charactersOfRule = 12;
/** Elements that llama.cpp makes of the text; a repetition counts as often as it may repeat. */
export const mostGrammarElements = 1_000_000;
/** Elements that llama.cpp reads in search of left recursion, each as often as a rule begins with its own; takes about 100 ms. */
export const mostLeftmostReads = 40_000_000;
/** Parses of an answer that a grammar may keep open at one time. */
export const mostOpenParses = 128;
/** Optional properties of one object: each is an open parse where the next may begin. */
export const mostOptionalProperties = 500;
/** Characters that may come next at one place of a pattern or of an enum, told apart by what follows. */
export const mostBranches = 1_000;
export const mostPatternCharacters = 10_000;
export const deepestPattern = 100;
export const mostPatternStates = 4_000;
const mostShown = 200;

/** A limit was exceeded; the message says which, to follow the name of the field. */
export class OverBudget extends Error {}

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

  /** Whether two values are the same JSON; costs the steps of writing both. */
  same(a: unknown, b: unknown): boolean {
    return a === b || this.json(a) === this.json(b);
  }

  json(value: unknown): string {
    const text = JSON.stringify(value) ?? "";
    this.spend(1 + Math.floor(text.length / charactersOfOneStep));
    return text;
  }
}

/** Writing so much JSON takes about as long as visiting a sub-schema. */
const charactersOfOneStep = 64;

/** What a caller wrote, as far as a message repeats it. */
export function shown(value: unknown): string {
  // An object of a caller may have a `toString` that is none.
  const text = Object(value) === value ? "{…}" : String(value);
  return text.length <= mostShown ? text : `${text.slice(0, mostShown)}…`;
}
