/** The part of regular expressions that a grammar can follow, as GBNF for the inside of a JSON string. */
import { characterClass, codeOf, complement, type Range } from "./character-class.ts";
import { literal, plainCharacter } from "./rules.ts";

export class UnsupportedPattern extends Error {}

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

/** What stands for any character. */
const any = plainCharacter;

/**
 * GBNF for strings that match the pattern. As in JSON Schema the pattern may match anywhere, unless
 * `^` and `$` tie it down; what a grammar cannot follow (look-around, back references) is refused.
 */
export function patternGrammar(pattern: string): string {
  const fromStart = pattern.startsWith("^");
  const toEnd = /(^|[^\\])(\\\\)*\$$/.test(pattern);
  const inner = pattern.slice(fromStart ? 1 : 0, toEnd ? -1 : undefined);
  const parser = new PatternParser(inner);
  const body = parser.alternation();
  if (!parser.atEnd) throw new UnsupportedPattern(pattern);
  return `${fromStart ? "" : `${any}* `}(${body})${toEnd ? "" : ` ${any}*`}`;
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

  alternation(): string {
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    return options.join(" | ");
  }

  #sequence(): string {
    const items: string[] = [];
    while (!this.atEnd && this.#peek() !== "|" && this.#peek() !== ")") {
      items.push(`${this.#item()}${this.#quantifier()}`);
    }
    return items.length === 0 ? '""' : items.join(" ");
  }

  #item(): string {
    const character = this.#next();
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case ".":
        return any;
      case "\\":
        return this.#escape();
      case "^":
      case "$":
      case "*":
      case "+":
      case "?":
      case "{":
        throw new UnsupportedPattern(this.#text);
      default:
        return literal(JSON.stringify(character).slice(1, -1));
    }
  }

  #group(): string {
    if (this.#take("?:") === false && this.#peek() === "?")
      throw new UnsupportedPattern(this.#text);
    const body = this.alternation();
    if (!this.#take(")")) throw new UnsupportedPattern(this.#text);
    return `(${body})`;
  }

  #escape(): string {
    const character = this.#next();
    const known = classes[character];
    if (known !== undefined) return characterClass(known);
    // A letter or digit after the backslash has a meaning of its own: \b, \1, \p.
    if (/[A-Za-z0-9]/.test(character)) throw new UnsupportedPattern(this.#text);
    return literal(JSON.stringify(character).slice(1, -1));
  }

  #class(): string {
    const negated = this.#take("^");
    const ranges: Range[] = [];
    while (!this.#take("]")) {
      const from = this.#member();
      if (typeof from !== "number") {
        ranges.push(...from);
        continue;
      }
      if (this.#peek() !== "-" || this.#text[this.#at + 1] === "]") {
        ranges.push([from, from]);
        continue;
      }
      this.#take("-");
      const to = this.#member();
      if (typeof to !== "number" || to < from) throw new UnsupportedPattern(this.#text);
      ranges.push([from, to]);
    }
    if (ranges.length === 0) throw new UnsupportedPattern(this.#text);
    return characterClass(negated ? complement(ranges) : ranges);
  }

  /** One character of a class, or a class within it. */
  #member(): number | readonly Range[] {
    const character = this.#next();
    if (character !== "\\") return codeOf(character);
    const escaped = this.#next();
    const known = classes[escaped];
    if (known !== undefined) return known;
    if (/[A-Za-z0-9]/.test(escaped)) throw new UnsupportedPattern(this.#text);
    return codeOf(escaped);
  }

  #quantifier(): string {
    const [found] = /^([*+?]|\{\d+(,\d*)?\})/.exec(this.#text.slice(this.#at)) ?? [""];
    this.#at += found.length;
    if (found !== "" && (this.#peek() === "?" || this.#peek() === "+")) {
      throw new UnsupportedPattern(this.#text);
    }
    return found;
  }

  #peek(): string {
    return this.#text[this.#at] ?? "";
  }

  #next(): string {
    if (this.atEnd) throw new UnsupportedPattern(this.#text);
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
