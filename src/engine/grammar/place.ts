/** Where in a schema the compiler is, for what compiles a part of it. */
import type { NodeError } from "../../core/errors.ts";
import type { Part } from "./readings.ts";
import type { GrammarRules } from "./rules.ts";

/** A name or a pattern is shown to the caller as far as this. */
const mostShown = 200;

/** What a caller wrote, for an error's message. */
export function shown(value: unknown): string {
  const text = String(value);
  return text.length <= mostShown ? text : `${text.slice(0, mostShown)}…`;
}

/** What a part of a schema is compiled with. */
export interface Place {
  rules: GrammarRules;
  /** The error that refuses a keyword of this part. */
  refuse: (keyword: string, why: string) => NodeError;
  /** Compiles a schema inside this one; `steps` lead to it. */
  compile: (schema: unknown, ...steps: string[]) => Part;
}

/** An object or an array as GBNF, with the parts inside it. */
export interface Container {
  text: string;
  inside: readonly Part[];
  members?: Part["members"];
}
