/**
 * How many readings (parses) of an answer a grammar keeps open. llama.cpp follows each parse that the
 * text so far allows with a stack of its own; where a schema refers back to itself through options
 * that begin alike, each level would multiply them.
 */
import { type Budget, deepestSchema, mostOpenReadings } from "./cost.ts";

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";
export const everyKind: readonly Kind[] = [
  ...(["object", "array", "string"] as const),
  ...(["number", "boolean", "null"] as const),
];

/** A number of open readings: the largest of some sums, which may depend on itself. */
export interface Readings {
  sums: (readonly Readings[])[];
  value: number;
}

/** A compiled schema: its GBNF, and what can be told of the texts that it allows. */
export interface Part {
  text: string;
  /** The kinds of its values, where it is no choice and no reference. */
  kinds: readonly Kind[];
  readings: Readings;
  /** What a choice is between; for a reference the one that it stands for, once that is compiled. */
  options?: readonly Part[];
  /** The values, as JSON, where they are fixed. */
  values?: readonly string[];
  /** The properties, in the order in which they are written. */
  members?: Members;
}

type Members = ReadonlyMap<string, Member>;

interface Member {
  key: string;
  at: number;
  required: boolean;
  part: Part;
}

/** The part that a reference stands for, or the part itself. */
export function behind(part: Part): Part {
  let at = part;
  for (let steps = 0; at.options?.length === 1 && steps < deepestSchema; steps++) {
    at = at.options[0] ?? at;
  }
  return at;
}

/** Whether a choice comes to itself again before anything is written. */
export function beginsWithItself({ options = [] }: Part, budget: Budget): boolean {
  const parts = new Set(options);
  for (const part of parts) {
    budget.spend();
    if (part.options === options) return true;
    for (const option of part.options ?? []) parts.add(option);
  }
  return false;
}

/** The open readings of one document's parts. */
export class OpenReadings {
  readonly #all: Readings[] = [];
  readonly #choices: { readings: Readings; options: readonly Part[] }[] = [];
  readonly #kindsOf = new Map<Part, ReadonlySet<Kind>>();
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** As many as the one of these that has most; of nothing it is one. */
  most(of: readonly Readings[] = []): Readings {
    this.#budget.spend(1 + of.length);
    const readings = { sums: of.map((one) => [one]), value: 1 };
    this.#all.push(readings);
    return readings;
  }

  /** Those of one option, or of all options together as far as a text may belong to several. */
  choice(options: readonly Part[]): Readings {
    const readings = this.most(options.map((option) => option.readings));
    this.#choices.push({ readings, options });
    return readings;
  }

  /** Adds what the options of a choice have in common. */
  #compare(readings: Readings, options: readonly Part[]): void {
    const alike = options.map((): Readings[] => []);
    for (const [at, first] of options.entries()) {
      for (let other = at + 1; other < options.length; other++) {
        for (const [mine, theirs] of this.#shared(first, options[other] ?? first)) {
          alike[at]?.push(mine);
          alike[other]?.push(theirs);
        }
      }
    }
    const open = alike.filter((shared) => shared.length > 0);
    if (open.length > 0) readings.sums.push(open.map((shared) => this.most(shared)));
  }

  /** The parts of two options that one text may be inside of at the same time. */
  #shared(first: Part, second: Part): [Readings, Readings][] {
    this.#budget.spend();
    if (!this.#mayMeet(first, second)) return [];
    const [mine, theirs] = [behind(first).members, behind(second).members];
    const whole: [Readings, Readings] = [first.readings, second.readings];
    if (mine === undefined || theirs === undefined) return [whole];
    const shared: [Readings, Readings][] = [[one, one]];
    const [end, otherEnd] = [this.#parting(mine, theirs), this.#parting(theirs, mine)];
    for (const member of mine.values()) {
      const other = theirs.get(member.key);
      if (other === undefined || member.at >= end || other.at >= otherEnd) continue;
      if (this.#mayMeet(member.part, other.part)) {
        shared.push([member.part.readings, other.part.readings]);
      }
    }
    return shared;
  }

  /** The place of the first property that must be written and that the other object cannot have so. */
  #parting(members: Members, others: Members): number {
    this.#budget.spend(Math.ceil(members.size / 16));
    for (const { key, at, required, part } of members.values()) {
      const other = others.get(key);
      if (required && (other === undefined || !this.#mayMeet(part, other.part))) return at;
    }
    return members.size;
  }

  /** Whether two parts may begin alike. */
  #mayMeet(first: Part, second: Part): boolean {
    const kinds = this.#kinds(first);
    if (![...this.#kinds(second)].some((kind) => kinds.has(kind))) return false;
    const [values, others] = [behind(first).values, behind(second).values];
    if (values === undefined || others === undefined) return true;
    this.#budget.spend(Math.ceil((values.length + others.length) / 16));
    const known = new Set(values);
    return others.some((value) => known.has(value));
  }

  /** The kinds of a part's values, those of its options included. */
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

  /** Finds all numbers, counting no further than one above the limit. */
  settle(): void {
    for (const { readings, options } of this.#choices) this.#compare(readings, options);
    const sums = this.#all.reduce((total, readings) => total + readings.sums.length, 0);
    for (let changed = true; changed; ) {
      changed = false;
      this.#budget.spend(Math.ceil(sums / 16));
      for (const readings of this.#all) {
        let value = readings.value;
        for (const sum of readings.sums) {
          value = Math.max(
            value,
            sum.reduce((total, one) => total + one.value, 0),
          );
        }
        value = Math.min(value, mostOpenReadings + 1);
        if (value === readings.value) continue;
        readings.value = value;
        changed = true;
      }
    }
  }
}

const one: Readings = { sums: [], value: 1 };
