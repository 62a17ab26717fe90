/** Predicts what a grammar costs llama.cpp's parser, which has no limits and runs on the event loop of the model's process. */
import { mostGrammarElements, mostLeftmostReads, OverBudget } from "./limits.ts";

/** Rules that begin with one another; llama.cpp follows them on its stack. */
const deepestLeftmostChain = 5_000;

const terminal = -1;
/** A rule's alternatives: elements that are terminals or the numbers of rules. */
type Alternatives = number[][];

export function checkNativeCost(text: string): { elements: number; leftmostReads: number } {
  const { elements, rules } = new Expansion(text);
  return { elements, leftmostReads: leftmostReads(rules) };
}

/** The rules that llama.cpp's parser makes, as `parse_sequence` and `handle_repetitions` do. */
class Expansion {
  readonly rules: Alternatives[] = [];
  elements = 0;
  readonly #text: string;
  readonly #numbers = new Map<string, number>();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    while (this.#at < this.#text.length) {
      const number = this.#named(this.#word());
      this.#at += " ::= ".length;
      this.rules[number] = this.#alternatives();
      this.#at++;
    }
  }

  #named(name: string): number {
    const number = this.#numbers.get(name) ?? this.#add([]);
    this.#numbers.set(name, number);
    return number;
  }

  #add(alternatives: Alternatives): number {
    this.#count(2);
    return this.rules.push(alternatives) - 1;
  }

  #count(elements: number): void {
    this.elements += elements;
    if (this.elements <= mostGrammarElements) return;
    throw new OverBudget(
      `makes a grammar of more than ${mostGrammarElements} elements; lengths and counts add as many as they allow`,
    );
  }

  #alternatives(): Alternatives {
    const alternatives: Alternatives = [[]];
    let item: number[] = [];
    for (;;) {
      const sequence = alternatives.at(-1) ?? [];
      const character = this.#text[this.#at];
      if (character === undefined || character === ")" || character === "\n") return alternatives;
      if (character === "|") {
        this.#at++;
        alternatives.push([]);
        this.#count(1);
      } else if (character === " ") {
        this.#at++;
      } else if ("*+?{".includes(character)) {
        this.#repeat(sequence, item);
      } else {
        item = this.#item(character);
        this.#count(item.length);
        for (const element of item) sequence.push(element);
      }
    }
  }

  #item(character: string): number[] {
    if (character === '"' || character === "[") return this.#terminals(character);
    if (character !== "(") return [this.#named(this.#word())];
    this.#at++;
    const number = this.#add([]);
    this.rules[number] = this.#alternatives();
    this.#at++;
    return [number];
  }

  /** A literal is an element for each character, a class one for each of its bounds. */
  #terminals(open: string): number[] {
    const close = open === "[" ? "]" : open;
    const elements: number[] = [];
    for (this.#at++; this.#text[this.#at] !== close; ) {
      const escaped = this.#text[this.#at] === "\\" ? this.#text[this.#at + 1] : undefined;
      const digits = { x: 2, u: 4, U: 8 }[escaped ?? ""] ?? 0;
      this.#at += escaped === undefined ? 1 : 2 + digits;
      elements.push(terminal);
    }
    this.#at++;
    return elements;
  }

  #repeat(sequence: number[], item: readonly number[]): void {
    const [least, most] = this.#bounds();
    const start = sequence.length - item.length;
    this.#count(item.length * Math.max(0, least - 1));
    sequence.length = start;
    for (let count = 0; count < least; count++) for (const one of item) sequence.push(one);
    let last: number | undefined;
    for (let count = 0; count < (most === undefined ? 1 : most - least); count++) {
      const number = this.#add([]);
      this.#count(item.length + 1);
      const next = most === undefined ? number : last;
      this.rules[number] = [[...item, ...(next === undefined ? [] : [next])], []];
      last = number;
    }
    if (last !== undefined) sequence.push(last);
  }

  #bounds(): [least: number, most: number | undefined] {
    repetition.lastIndex = this.#at;
    const [found = "", least = "", comma, most = ""] = repetition.exec(this.#text) ?? [];
    this.#at += Math.max(1, found.length);
    if (least === "") return [found === "+" ? 1 : 0, found === "?" ? 1 : undefined];
    const exactly = comma === undefined ? least : most;
    return [Number(least), exactly === "" ? undefined : Number(exactly)];
  }

  #word(): string {
    word.lastIndex = this.#at;
    const [found = ""] = word.exec(this.#text) ?? [];
    this.#at += Math.max(1, found.length);
    return found;
  }
}

const repetition = /[*+?]|\{(\d+)(?:(,)(\d*))?\}/y;
const word = /[A-Za-z0-9-]+/y;

const tooManyOptions = (): OverBudget =>
  new OverBudget("has too many options inside options; list them once, in one anyOf");

/** As `llama_grammar_detect_left_recursion` goes, which reads a rule again for each that begins with it. */
function leftmostReads(rules: readonly Alternatives[]): number {
  const begins = leftmostRules(rules);
  const known = new Map<number, { reads: number; depth: number }>();
  const open = new Set<number>();
  const measure = (rule: number): { reads: number; depth: number } => {
    const measured = known.get(rule);
    if (measured !== undefined) return measured;
    if (open.has(rule)) throw new OverBudget("refers to itself before anything is written");
    open.add(rule);
    if (open.size > deepestLeftmostChain) throw tooManyOptions();
    // Each alternative has an element at its end.
    let reads = (rules[rule] ?? []).reduce((sum, { length }) => sum + length + 1, 0);
    let depth = 1;
    for (const child of begins[rule] ?? []) {
      const inner = measure(child);
      reads += inner.reads;
      depth = Math.max(depth, inner.depth + 1);
    }
    if (reads > mostLeftmostReads || depth > deepestLeftmostChain) throw tooManyOptions();
    open.delete(rule);
    known.set(rule, { reads, depth });
    return { reads, depth };
  };
  let total = 0;
  for (const start of rules.keys()) {
    // Marked as visited by an earlier search.
    if (known.has(start)) continue;
    total += measure(start).reads;
    if (total > mostLeftmostReads) throw tooManyOptions();
  }
  return total;
}

/** For each rule those that it may begin with. */
function leftmostRules(rules: readonly Alternatives[]): number[][] {
  const empty = emptyRules(rules);
  return rules.map((alternatives) =>
    alternatives.flatMap((sequence) => {
      const end = sequence.findIndex((element) => !empty.has(element));
      return sequence.slice(0, end === -1 ? undefined : end + 1).filter((one) => one !== terminal);
    }),
  );
}

/** The rules that may stand for no text at all. */
function emptyRules(rules: readonly Alternatives[]): Set<number> {
  const empty = new Set<number>();
  for (let size = -1; size !== empty.size; ) {
    size = empty.size;
    // From the last to the first, since rules usually refer to later ones.
    for (let rule = rules.length - 1; rule >= 0; rule--) {
      if (rules[rule]?.some((sequence) => sequence.every((one) => empty.has(one)))) empty.add(rule);
    }
  }
  return empty;
}
