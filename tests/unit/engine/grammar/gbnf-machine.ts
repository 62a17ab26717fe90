/** Reads GBNF as llama.cpp does: rules, and a stack for each reading that is open. */
import fc, { type Arbitrary } from "fast-check";

type Element = { ref: string } | { ranges: [number, number][] };
/** What is still to be read, as a list of which the first comes first. */
type Stack = { element: Element; rest: Stack } | undefined;

export class GbnfMachine {
  readonly #rules = new Map<string, Element[][]>();
  /** The fewest characters that each rule can be. */
  readonly #fewest = new Map<string, number>();
  #text = "";
  #at = 0;

  constructor(grammar: string) {
    for (const line of grammar.trimEnd().split("\n")) {
      const split = line.indexOf(" ::= ");
      const name = line.slice(0, split);
      if (this.#rules.has(name)) throw new Error(`The rule '${name}' is defined twice`);
      [this.#text, this.#at] = [line.slice(split + 5), 0];
      this.#rules.set(name, this.#alternatives());
      if (this.#at < this.#text.length) throw new Error(`Not GBNF: ${this.#text.slice(this.#at)}`);
    }
    this.#findFewest();
  }

  /** Whether the text is a sentence, and the most readings of it that were open at one time. */
  read(text: string): { sentence: boolean; open: number } {
    let stacks = this.#advance([{ element: { ref: "root" }, rest: undefined }]);
    let open = stacks.length;
    for (const character of text) {
      const code = character.codePointAt(0) ?? 0;
      const next = stacks.flatMap((stack) =>
        stack !== undefined && reads(stack.element, code) ? [stack.rest] : [],
      );
      stacks = this.#advance(next);
      open = Math.max(open, stacks.length);
    }
    return { sentence: stacks.includes(undefined), open };
  }

  accepts(text: string): boolean {
    return this.read(text).sentence;
  }

  /**
   * Sentences by chance; those longer than a hundred characters take the shortest way to their end,
   * which chance alone finds after thousands where the end has to be one word.
   */
  sentences(): Arbitrary<string> {
    return fc.infiniteStream(fc.nat()).map((chances) => {
      let text = "";
      let stacks = this.#advance([{ element: { ref: "root" }, rest: undefined }]);
      for (const chance of chances) {
        if (stacks.length === 0) throw new Error(`Nothing can follow '${text}'`);
        const mayEnd = stacks.includes(undefined);
        const stack = text.length > 100 ? this.#nearest(stacks) : stacks[chance % stacks.length];
        if (mayEnd && (stack === undefined || text.length > 100)) break;
        if (stack === undefined || "ref" in stack.element) continue;
        const { ranges } = stack.element;
        const [low, high] = ranges[chance % ranges.length] ?? [0, 0];
        const code = low + ((chance >>> 4) % (high - low + 1));
        text += String.fromCodePoint(code);
        stacks = this.#advance(
          stacks.flatMap((one) => (one && reads(one.element, code) ? [one.rest] : [])),
        );
      }
      return text;
    });
  }

  #nearest(stacks: readonly Stack[]): Stack {
    return stacks.reduce((best, one) => (this.#length(one) < this.#length(best) ? one : best));
  }

  /** The fewest characters that complete what is still to be read. */
  #length(stack: Stack): number {
    let sum = 0;
    for (let at = stack; at !== undefined; at = at.rest) sum += this.#fewestOf(at.element);
    return sum;
  }

  #fewestOf(element: Element): number {
    return "ref" in element ? (this.#fewest.get(element.ref) ?? Number.POSITIVE_INFINITY) : 1;
  }

  /** Again and again, until no rule becomes shorter by what was found of the others. */
  #findFewest(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const [name, alternatives] of this.#rules) {
        const lengths = alternatives.map((sequence) =>
          sequence.reduce((sum, element) => sum + this.#fewestOf(element), 0),
        );
        const least = Math.min(...lengths);
        if (least >= (this.#fewest.get(name) ?? Number.POSITIVE_INFINITY)) continue;
        this.#fewest.set(name, least);
        changed = true;
      }
    }
  }

  /** The stacks with a character or nothing on top, each once. */
  #advance(stacks: readonly Stack[]): Stack[] {
    const seen = new Map<string, Stack>();
    const done = new Map<string, Stack>();
    const todo = [...stacks];
    while (todo.length > 0) {
      const stack = todo.pop();
      const key = keyOf(stack);
      if (seen.has(key)) continue;
      seen.set(key, stack);
      if (stack === undefined || "ranges" in stack.element) {
        done.set(key, stack);
        continue;
      }
      const alternatives = this.#rules.get(stack.element.ref);
      if (alternatives === undefined) throw new Error(`No rule '${stack.element.ref}'`);
      for (const sequence of alternatives) {
        todo.push(sequence.reduceRight<Stack>((rest, element) => ({ element, rest }), stack.rest));
      }
    }
    return [...done.values()];
  }

  #alternatives(): Element[][] {
    const alternatives: Element[][] = [[]];
    let item: Element[] = [];
    while (this.#at < this.#text.length && this.#text[this.#at] !== ")") {
      const sequence = alternatives.at(-1) ?? [];
      const character = this.#text[this.#at];
      if (character === " ") this.#at++;
      else if (character === "|") {
        this.#at++;
        alternatives.push([]);
      } else if (/[*+?{]/.test(character ?? "")) {
        sequence.length -= item.length;
        sequence.push(...this.#repeated(item));
      } else {
        item = this.#item();
        sequence.push(...item);
      }
    }
    return alternatives;
  }

  #repeated(item: Element[]): Element[] {
    const [found = "", least = "", comma, most = ""] =
      /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += found.length;
    const low = least === "" ? (found === "+" ? 1 : 0) : Number(least);
    const exactly = comma === undefined ? least : most;
    const high = found === "?" ? 1 : exactly === "" ? undefined : Number(exactly);
    const copies = Array.from({ length: low }, () => item).flat();
    if (high === undefined) {
      const name = this.#fresh();
      this.#rules.set(name, [[...item, { ref: name }], []]);
      return [...copies, { ref: name }];
    }
    let rest: Element[] = [];
    for (let count = low; count < high; count++) {
      const name = this.#fresh();
      this.#rules.set(name, [[...item, ...rest], []]);
      rest = [{ ref: name }];
    }
    return [...copies, ...rest];
  }

  #fresh(): string {
    return `made ${this.#rules.size}`;
  }

  #item(): Element[] {
    const character = this.#text[this.#at++];
    if (character === '"') {
      const elements: Element[] = [];
      while (this.#text[this.#at] !== '"') {
        const code = this.#character();
        elements.push({ ranges: [[code, code]] });
      }
      this.#at++;
      return elements;
    }
    if (character === "[") {
      const ranges: [number, number][] = [];
      while (this.#text[this.#at] !== "]") {
        const from = this.#character();
        const isRange = this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]";
        if (isRange) this.#at++;
        ranges.push([from, isRange ? this.#character() : from]);
      }
      this.#at++;
      return [{ ranges }];
    }
    if (character === "(") {
      const name = this.#fresh();
      this.#rules.set(name, []);
      this.#rules.set(name, this.#alternatives());
      this.#at++;
      return [{ ref: name }];
    }
    const [name = ""] = /^[A-Za-z0-9-]+/.exec(this.#text.slice(this.#at - 1)) ?? [];
    if (name === "") throw new Error(`Not GBNF: ${this.#text.slice(this.#at - 1)}`);
    this.#at += name.length - 1;
    return [{ ref: name }];
  }

  /** A character of a literal or a class, perhaps escaped. */
  #character(): number {
    const code = this.#text.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    if (code !== 0x5c) return code;
    const kind = this.#text[this.#at++] ?? "";
    const digits = { x: 2, u: 4, U: 8 }[kind];
    if (digits === undefined) return kind.charCodeAt(0);
    this.#at += digits;
    return Number.parseInt(this.#text.slice(this.#at - digits, this.#at), 16);
  }
}

const reads = (element: Element, code: number): boolean =>
  "ranges" in element && element.ranges.some(([low, high]) => low <= code && code <= high);

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

/** Stacks of the same elements have the same key. */
function keyOf(stack: Stack): string {
  let key = "";
  for (let at = stack; at !== undefined; at = at.rest) {
    const number = numbers.get(at.element) ?? ++lastNumber;
    numbers.set(at.element, number);
    key += ` ${number}`;
  }
  return key;
}
