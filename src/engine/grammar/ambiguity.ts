/** Counts a grammar's open parses: llama.cpp has a stack for each; recursion multiplies them. */
import { type Budget, deepestSchema, mostOpenParses } from "./limits.ts";

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";
export const everyKind: readonly Kind[] = [
  ...(["object", "array", "string"] as const),
  ...(["number", "boolean", "null"] as const),
];

/** A number of open parses: the largest of some sums, which may depend on itself. */
export interface Parses {
  sums: (readonly Parses[])[];
  value: number;
}

/** A compiled schema: its GBNF, and facts about the texts that it allows. */
export interface Part {
  text: string;
  /** The kinds of its values, unless it is a choice or a reference. */
  kinds: readonly Kind[];
  parses: Parses;
  /** The options of a choice; for a reference, its target once that is compiled. */
  options?: readonly Part[];
  /** The values as JSON, if they are fixed. */
  values?: readonly string[];
  members?: Members;
}

type Members = ReadonlyMap<string, Member>;

interface Member {
  key: string;
  at: number;
  required: boolean;
  part: Part;
}

/** The target of a reference, or the part itself. */
export function meant(part: Part): Part {
  let at = part;
  for (let steps = 0; at.options?.length === 1 && steps < deepestSchema; steps++) {
    at = at.options[0] ?? at;
  }
  return at;
}

/** Whether a choice leads to itself before anything is written. */
export function beginsWithItself({ options = [] }: Part, budget: Budget): boolean {
  const parts = new Set(options);
  for (const part of parts) {
    budget.spend();
    if (part.options === options) return true;
    for (const option of part.options ?? []) parts.add(option);
  }
  return false;
}

export class OpenParses {
  readonly #all: Parses[] = [];
  readonly #choices: { parses: Parses; options: readonly Part[] }[] = [];
  readonly #kindsOf = new Map<Part, ReadonlySet<Kind>>();
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** The largest of these; 1 if there are none. */
  most(of: readonly Parses[] = []): Parses {
    this.#budget.spend(1 + of.length);
    const parses = { sums: of.map((one) => [one]), value: 1 };
    this.#all.push(parses);
    return parses;
  }

  /** The parses of one option, or the sum of options that a text may belong to at once. */
  choice(options: readonly Part[]): Parses {
    const parses = this.most(options.map((option) => option.parses));
    this.#choices.push({ parses, options });
    return parses;
  }

  #compare(parses: Parses, options: readonly Part[]): void {
    const alike = options.map((): Parses[] => []);
    for (const [at, first] of options.entries()) {
      for (let other = at + 1; other < options.length; other++) {
        for (const [mine, theirs] of this.#shared(first, options[other] ?? first)) {
          alike[at]?.push(mine);
          alike[other]?.push(theirs);
        }
      }
    }
    const open = alike.filter((shared) => shared.length > 0);
    if (open.length > 0) parses.sums.push(open.map((shared) => this.most(shared)));
  }

  /** The parts of two options that one text may match at the same time. */
  #shared(first: Part, second: Part): [Parses, Parses][] {
    this.#budget.spend();
    if (!this.#mayMeet(first, second)) return [];
    const [mine, theirs] = [meant(first).members, meant(second).members];
    const whole: [Parses, Parses] = [first.parses, second.parses];
    if (mine === undefined || theirs === undefined) return [whole];
    const shared: [Parses, Parses][] = [[one, one]];
    const [end, otherEnd] = [this.#parting(mine, theirs), this.#parting(theirs, mine)];
    for (const member of mine.values()) {
      const other = theirs.get(member.key);
      if (other === undefined || member.at >= end || other.at >= otherEnd) continue;
      if (this.#mayMeet(member.part, other.part)) {
        shared.push([member.part.parses, other.part.parses]);
      }
    }
    return shared;
  }

  /** Position of the first required property that rules out the other object. */
  #parting(members: Members, others: Members): number {
    this.#budget.spend(Math.ceil(members.size / 16));
    for (const { key, at, required, part } of members.values()) {
      const other = others.get(key);
      if (required && (other === undefined || !this.#mayMeet(part, other.part))) return at;
    }
    return members.size;
  }

  #mayMeet(first: Part, second: Part): boolean {
    const kinds = this.#kinds(first);
    if (![...this.#kinds(second)].some((kind) => kinds.has(kind))) return false;
    const [values, others] = [meant(first).values, meant(second).values];
    if (values === undefined || others === undefined) return true;
    this.#budget.spend(Math.ceil((values.length + others.length) / 16));
    const known = new Set(values);
    return others.some((value) => known.has(value));
  }

  #kinds(part: Part): ReadonlySet<Kind> {
    const known = this.#kindsOf.get(part);
    if (known !== undefined) return known;
    const parts = new Set([part]);
    for (const { options = [] } of parts) for (const option of options) parts.add(option);
    this.#budget.spend(parts.size);
    const kinds = new Set(
      [...parts].flatMap((one) => (one.options === undefined ? one.kinds : [])),
    );
    this.#kindsOf.set(part, kinds);
    return kinds;
  }

  settle(): void {
    for (const { parses, options } of this.#choices) this.#compare(parses, options);
    const sums = this.#all.reduce((all, parses) => all + parses.sums.length, 0);
    for (let changed = true; changed; ) {
      changed = false;
      this.#budget.spend(Math.ceil(sums / 16));
      for (const parses of this.#all) {
        const most = parses.sums.reduce(
          (before, sum) => Math.max(before, total(sum)),
          parses.value,
        );
        const value = Math.min(most, mostOpenParses + 1);
        if (value === parses.value) continue;
        parses.value = value;
        changed = true;
      }
    }
  }
}

const total = (sum: readonly Parses[]): number => sum.reduce((all, { value }) => all + value, 0);

const one: Parses = { sums: [], value: 1 };
