/** Compiles regular expressions to GBNF for the inside of a JSON string, as far as a grammar can match them. */
import { automatonGrammar, automatonOf, type Expression } from "./automaton.ts";
import {
  characterClass,
  complement,
  isOne,
  plain,
  type Range,
  writable,
} from "./character-class.ts";
import { deepestPattern, mostPatternCharacters, OverBudget } from "./limits.ts";
import type { GrammarRules } from "./rules.ts";

export class UnsupportedPattern extends Error {
  constructor(message = "uses what a grammar cannot follow") {
    super(message);
  }
}

const classes: Readonly<Record<string, readonly Range[]>> = {
  d: [[0x30, 0x39]],
  w: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
  s: [[0x20, 0x20]],
};

const any: Expression = { type: "set", ranges: plain };
const anything: Expression = { type: "repeat", item: any, least: 0, most: undefined };

/** As in JSON Schema, a pattern matches anywhere unless it has `^` and `$`. Look-around and back references are rejected. */
export function patternGrammar(pattern: string, rules: GrammarRules): string {
  return rules.once(`pattern ${pattern}`, () => {
    if (pattern.length > mostPatternCharacters) {
      throw new OverBudget(`has a pattern of more than ${mostPatternCharacters} characters`);
    }
    const automaton = automatonOf(parse(pattern), rules.budget);
    if (automaton === undefined) throw new UnsupportedPattern("matches nothing that JSON can hold");
    return automatonGrammar(rules, automaton, characterClass);
  });
}

function parse(pattern: string): Expression {
  const fromStart = pattern.startsWith("^");
  const toEnd = pattern.endsWith("$") && !isEscaped(pattern, pattern.length - 1);
  const parser = new PatternParser(pattern.slice(fromStart ? 1 : 0, toEnd ? -1 : undefined));
  let body: Expression | undefined;
  try {
    body = parser.alternation(0);
    if (!parser.atEnd) throw new UnsupportedPattern();
  } catch (error) {
    if (!(error instanceof UnsupportedPattern) || isRegExp(pattern)) throw error;
  }
  if (body === undefined || !isRegExp(pattern)) {
    throw new UnsupportedPattern("is not a regular expression");
  }
  const items = [...(fromStart ? [] : [anything]), body, ...(toEnd ? [] : [anything])];
  return { type: "sequence", items };
}

function isRegExp(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}

class PatternParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  alternation(depth: number): Expression {
    if (depth > deepestPattern) {
      throw new OverBudget(`has a pattern with groups nested deeper than ${deepestPattern}`);
    }
    const options = [this.#sequence(depth)];
    while (this.#take("|")) options.push(this.#sequence(depth));
    return { type: "choice", options };
  }

  #sequence(depth: number): Expression {
    const items: Expression[] = [];
    while (!this.atEnd && this.#peek() !== "|" && this.#peek() !== ")") {
      items.push(this.#quantified(this.#item(depth)));
    }
    return { type: "sequence", items };
  }

  #item(depth: number): Expression {
    if (this.#take("(")) return this.#group(depth);
    if (this.#take("[")) return this.#class();
    if (this.#take(".")) return any;
    if ("^$*+?{".includes(this.#peek())) throw new UnsupportedPattern();
    return { type: "set", ranges: this.#character() };
  }

  #group(depth: number): Expression {
    if (this.#take("?:") === false && this.#peek() === "?") throw new UnsupportedPattern();
    const body = this.alternation(depth + 1);
    if (!this.#take(")")) throw new UnsupportedPattern();
    return body;
  }

  #class(): Expression {
    const negated = this.#take("^");
    const ranges: Range[] = [];
    while (!this.#take("]")) {
      const from = this.#character();
      if (!isOne(from) || this.#peek() !== "-" || this.#text[this.#at + 1] === "]") {
        ranges.push(...from);
        continue;
      }
      this.#take("-");
      const to = this.#character();
      if (!isOne(to) || to[0][0] < from[0][0]) throw new UnsupportedPattern();
      ranges.push([from[0][0], to[0][0]]);
    }
    if (ranges.length === 0) throw new UnsupportedPattern();
    return { type: "set", ranges: writable(negated ? complement(ranges) : ranges) };
  }

  /** A character, or those that a backslash before it stands for. */
  #character(): readonly Range[] {
    const first = this.#next();
    const character = first === "\\" ? this.#next() : first;
    const known = first === "\\" ? classes[character] : undefined;
    if (known !== undefined) return known;
    // A backslash before a letter or digit has a special meaning (\b, \1, \p), which is not supported.
    if (first === "\\" && /[A-Za-z0-9]/.test(character)) throw new UnsupportedPattern();
    const code = character.codePointAt(0) ?? 0;
    return [[code, code]];
  }

  #quantified(item: Expression): Expression {
    quantifier.lastIndex = this.#at;
    const found = quantifier.exec(this.#text);
    if (found === null) return item;
    this.#at += found[0].length;
    if (this.#peek() === "?" || this.#peek() === "+") throw new UnsupportedPattern();
    const { sign, least = "", comma, most = "" } = found.groups ?? {};
    const repeat = { type: "repeat", item } as const;
    if (sign !== undefined) {
      return { ...repeat, least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : undefined };
    }
    const exactly = comma === undefined ? least : most;
    return {
      ...repeat,
      least: Number(least),
      most: exactly === "" ? undefined : Number(exactly),
    };
  }

  #peek(): string {
    return this.#text[this.#at] ?? "";
  }

  #next(): string {
    if (this.atEnd) throw new UnsupportedPattern();
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += character.length;
    return character;
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}

const quantifier = /(?<sign>[*+?])|\{(?<least>\d+)(?:(?<comma>,)(?<most>\d*))?\}/y;
