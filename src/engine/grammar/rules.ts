/** A grammar under construction in llama.cpp's GBNF: named rules, and the pieces that JSON is made of. */
import { Budget, charactersOfRule, mostGrammarCharacters, OverBudget } from "./limits.ts";

/** Longer property names are cut, since each reference to a rule repeats its name. */
const longestName = 40;
const longestInline = 120;

export class GrammarRules {
  readonly budget: Budget;
  readonly #rules = new Map<string, string>();
  readonly #known = new Map<string, string>();
  readonly #taken = new Map<string, number>();
  readonly #made = new Map<string, string>();
  #characters = 0;

  constructor(budget = new Budget()) {
    this.budget = budget;
  }

  /** Defines a rule under this name, made unique if needed, and returns the name. */
  add(name: string, body: string): string {
    const base = baseOf(name);
    const key = `${base} ${body}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const unique = this.#unique(base);
    this.define(unique, body);
    this.#known.set(key, unique);
    return unique;
  }

  /** Defines a rule for a part of a schema; the prefix keeps property names apart from the rules of JSON. */
  addPart(name: string, body: string): string {
    return this.add(`of-${name}`, body);
  }

  /** The text, or a rule for it if it is long: written once, and not searched with each rule that begins with it. */
  short(name: string, text: string, longest = longestInline): string {
    return text.length > longest ? this.addPart(name, text) : text;
  }

  /** Reserves a name before its body is known, so that a rule can refer to itself. */
  reserve(name: string): string {
    const unique = this.#unique(baseOf(name));
    this.#rules.set(unique, "");
    return unique;
  }

  once(key: string, make: () => string): string {
    const made = this.#made.get(key) ?? make();
    this.#made.set(key, made);
    return made;
  }

  define(name: string, body: string): void {
    this.budget.spend();
    this.#characters += name.length + body.length;
    // A body that is too long is not read.
    if (this.#characters <= mostGrammarCharacters) this.#characters += repeatedCharacters(body);
    if (this.#characters > mostGrammarCharacters) {
      throw new OverBudget(
        `makes a grammar of more than ${mostGrammarCharacters} characters; lengths and counts add as many as they allow`,
      );
    }
    this.#rules.set(name, body);
  }

  #unique(base: string): string {
    let count = this.#taken.get(base) ?? 0;
    let unique: string;
    do unique = ++count === 1 ? base : `${base}-${count}`;
    while (this.#rules.has(unique));
    this.#taken.set(base, count);
    return unique;
  }

  /** Rules come before those that they refer to, which makes llama.cpp's checks fast. */
  toString(root: string): string {
    const lines = [...this.#rules].map(([name, body]) => `${name} ::= ${body}`);
    return [`root ::= ${root}`, ...lines.reverse()].join("\n").concat("\n");
  }

  /** White space between JSON's parts: none, one space, or a line break with its indentation. */
  space(): string {
    return this.add("space", '| " " | "\\n" [ ]{0,16}');
  }

  character(): string {
    return this.add("char", `${plainCharacter} | "\\\\" (["\\\\bfnrt/] | "u" [0-9a-fA-F]{4})`);
  }

  string(): string {
    return this.add("string", `"\\"" ${this.character()}* "\\""`);
  }

  integer(): string {
    return this.add("integer", '"-"? ("0" | [1-9] [0-9]{0,14})');
  }

  number(): string {
    return this.add("number", `${this.integer()} ${fraction}? ([eE] [-+]? [0-9]{1,2})?`);
  }

  boolean(): string {
    return this.add("boolean", '"true" | "false"');
  }

  null(): string {
    return this.add("null", '"null"');
  }

  value(): string {
    const members = `${this.object()} | ${this.array()} | ${this.string()} | ${this.number()}`;
    return this.add("value", `${members} | ${this.boolean()} | ${this.null()}`);
  }

  object(): string {
    const [space, string] = [this.space(), this.string()];
    const member = `${string} ":" ${space} value`;
    return this.add(
      "object",
      `"{" ${space} (${member} (${space} "," ${space} ${member})*)? ${space} "}"`,
    );
  }

  array(): string {
    const space = this.space();
    return this.add("array", `"[" ${space} (value (${space} "," ${space} value)*)? ${space} "]"`);
  }
}

/** Repetitions such as `{2,8}`, outside of literals and character classes. */
const repetition = /"[^"\\]*(?:\\.[^"\\]*)*"|\[[^\]\\]*(?:\\.[^\]\\]*)*\]|\{(\d+)(?:,(\d*))?\}/gs;

/** llama.cpp copies what must be repeated, and adds a rule for each time that it may be. */
function repeatedCharacters(body: string): number {
  let sum = 0;
  for (const [, least = 0, most = least] of body.matchAll(repetition)) {
    sum += Number(least) + Math.max(0, Number(most) - Number(least)) * charactersOfRule;
  }
  return sum;
}

const baseOf = (name: string): string =>
  name.slice(0, longestName).replace(/[^A-Za-z0-9-]/g, "-") || "rule";

/** A character that JSON does not escape: no control character, quote, backslash or surrogate. */
const plainCharacter = "[\\x20-\\x21\\x23-\\x5B\\x5D-\\x7E\\u00A0-\\uD7FF\\uE000-\\U0010FFFF]";

export const fraction = '("." [0-9]{1,15})';

export function literal(text: string): string {
  const escaped = text.replace(/["\\\p{Cc}]/gu, (character) =>
    character === '"' || character === "\\"
      ? `\\${character}`
      : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return `"${escaped}"`;
}

export const jsonLiteral = (value: unknown): string => literal(JSON.stringify(value));
