/** Compiles expressions to deterministic finite automata, and those to GBNF in which each text has one parse. */
import { extend, gbnfClass, isOne, type Range } from "./character-class.ts";
import { type Budget, mostBranches, mostPatternStates, OverBudget } from "./limits.ts";
import { type GrammarRules, literal } from "./rules.ts";

export type Expression =
  | { type: "set"; ranges: readonly Range[] }
  | { type: "sequence"; items: readonly Expression[] }
  | { type: "choice"; options: readonly Expression[] }
  | { type: "repeat"; item: Expression; least: number; most: number | undefined };

interface Edge {
  ranges: readonly Range[];
  to: number;
}

export type Automaton = readonly { accepting: boolean; edges: readonly Edge[] }[];

const tooMany = (): OverBudget =>
  new OverBudget(`has a pattern that needs more than ${mostPatternStates} states`);

export function automatonOf(expression: Expression, budget: Budget): Automaton | undefined {
  const nondeterministic = new Builder(budget);
  const end = nondeterministic.build(expression, nondeterministic.state());
  return trimmed(determine(nondeterministic, end, budget));
}

class Builder {
  readonly free: number[][] = [];
  readonly edges: Edge[][] = [];
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  state(): number {
    // The nondeterministic automaton has up to three states for one of the deterministic one.
    if (this.free.length >= 3 * mostPatternStates) throw tooMany();
    this.free.push([]);
    return this.edges.push([]) - 1;
  }

  /** Adds states that read the expression after `from`; returns the state after it. */
  build(expression: Expression, from: number): number {
    this.#budget.spend();
    switch (expression.type) {
      case "set": {
        const to = this.state();
        this.edges[from]?.push({ ranges: expression.ranges, to });
        return to;
      }
      case "sequence":
        return expression.items.reduce((at, item) => this.build(item, at), from);
      case "choice": {
        const end = this.state();
        for (const option of expression.options) {
          this.#skip(this.build(option, this.#after(from)), end);
        }
        return end;
      }
      case "repeat":
        return this.#repeat(expression, from);
    }
  }

  #repeat({ item, least, most }: Extract<Expression, { type: "repeat" }>, from: number): number {
    if (Math.max(least, most ?? 0) > mostPatternStates) throw tooMany();
    let at = from;
    for (let count = 0; count < least; count++) at = this.build(item, at);
    if (most === undefined) {
      const loop = this.#after(at);
      this.#skip(this.build(item, loop), loop);
      return this.#after(loop);
    }
    const end = this.state();
    for (let count = least; count < most; count++) {
      this.#skip(at, end);
      at = this.build(item, at);
    }
    this.#skip(at, end);
    return end;
  }

  #after(from: number): number {
    const state = this.state();
    this.#skip(from, state);
    return state;
  }

  #skip(from: number, to: number): void {
    this.free[from]?.push(to);
  }
}

/** Sets of states that are reached together become one state each. */
function determine(builder: Builder, end: number, budget: Budget): Automaton {
  const states: { accepting: boolean; edges: Edge[] }[] = [];
  const sets: (readonly number[])[] = [];
  const known = new Map<string, number>();
  const stateOf = (targets: Iterable<number>): number => {
    const reached = closure(builder, targets, budget);
    const key = reached.join();
    const found = known.get(key);
    if (found !== undefined) return found;
    if (states.length >= mostPatternStates) throw tooMany();
    known.set(key, states.length);
    sets.push(reached);
    return states.push({ accepting: reached.includes(end), edges: [] }) - 1;
  };
  stateOf([0]);
  for (let at = 0; at < sets.length; at++) {
    const byTarget = new Map<number, Range[]>();
    const edges = (sets[at] ?? []).flatMap((state) => builder.edges[state] ?? []);
    for (const { range, targets } of partition(edges, budget)) {
      const to = stateOf(targets);
      const ranges = byTarget.get(to) ?? [];
      byTarget.set(to, ranges);
      extend(ranges, range);
    }
    states[at]?.edges.push(...[...byTarget].map(([to, ranges]) => ({ to, ranges })));
  }
  return states;
}

function closure({ free }: Builder, from: Iterable<number>, budget: Budget): number[] {
  const reached = new Set(from);
  for (const state of reached) {
    budget.spend();
    for (const next of free[state] ?? []) reached.add(next);
  }
  return [...reached].sort((a, b) => a - b);
}

/** Disjoint ranges, each with the targets of all edges that contain it. */
function* partition(
  edges: readonly Edge[],
  budget: Budget,
): Generator<{ range: Range; targets: Iterable<number> }> {
  const events = edges
    .flatMap(({ ranges, to }) =>
      ranges.flatMap(([low, high]) => [
        { at: low, to, change: 1 },
        { at: high + 1, to, change: -1 },
      ]),
    )
    .sort((a, b) => a.at - b.at);
  budget.spend(Math.ceil(events.length / 4));
  const open = new Map<number, number>();
  let from = 0;
  for (const { at, to, change } of events) {
    if (at > from && open.size > 0) yield { range: [from, at - 1], targets: open.keys() };
    from = at;
    const count = (open.get(to) ?? 0) + change;
    if (count === 0) open.delete(to);
    else open.set(to, count);
  }
}

/** Removes states that cannot reach an accepting one. */
function trimmed(automaton: Automaton): Automaton | undefined {
  const sources = automaton.map((): number[] => []);
  automaton.forEach(({ edges }, from) => {
    for (const { to } of edges) sources[to]?.push(from);
  });
  const alive = new Set([...automaton.keys()].filter((state) => automaton[state]?.accepting));
  for (const state of alive) for (const source of sources[state] ?? []) alive.add(source);
  if (!alive.has(0)) return undefined;
  return automaton.map(({ accepting, edges }) => ({
    accepting,
    edges: edges.filter(({ to }) => alive.has(to)),
  }));
}

/** A longer piece is a rule of its own, so that it is written once. */
const longestPiece = 60;

/** GBNF for the automaton's texts; `render` writes what one edge reads. */
export function automatonGrammar(
  rules: GrammarRules,
  automaton: Automaton,
  render: (ranges: readonly Range[]) => string,
): string {
  const entries = new Map<number, number>([[0, 2]]);
  for (const { edges } of automaton) {
    for (const { to } of edges) entries.set(to, (entries.get(to) ?? 0) + 1);
  }
  const names = new Map<number, string>([[0, rules.reserve("of-state")]]);
  const piece = (ranges: readonly Range[]): string =>
    rules.short("set", render(ranges), longestPiece);
  /** What is read after an edge to a state, in the same alternative as long as there is one way on. */
  const follow = (first: string, to: number): string => {
    const pieces = [first];
    for (let at = to; ; ) {
      const state = automaton[at];
      if (state === undefined || (state.accepting && state.edges.length === 0)) break;
      const [edge] = state.edges;
      if (entries.get(at) === 1 && !state.accepting && state.edges.length === 1 && edge) {
        pieces.push(piece(edge.ranges));
        at = edge.to;
        continue;
      }
      const name = names.get(at) ?? rules.reserve("of-state");
      names.set(at, name);
      pieces.push(name);
      break;
    }
    return joinPieces(pieces);
  };
  for (const [at, name] of names) {
    const { accepting = false, edges = [] } = automaton[at] ?? {};
    checkBranches(edges.length);
    const options = edges.map(({ ranges, to }) => follow(piece(ranges), to));
    rules.define(name, [...options, ...(accepting ? ['""'] : [])].join(" | "));
  }
  return names.get(0) ?? '""';
}

function joinPieces(pieces: readonly string[]): string {
  let joined = "";
  let inLiteral = false;
  for (const piece of pieces) {
    const isLiteral = piece.startsWith('"');
    if (inLiteral && isLiteral) joined = `${joined.slice(0, -1)}${piece.slice(1)}`;
    else joined += joined === "" ? piece : ` ${piece}`;
    inLiteral = isLiteral;
  }
  return joined;
}

function checkBranches(branches: number): void {
  if (branches <= mostBranches) return;
  throw new OverBudget(
    `has a place in a pattern or an enum at which more than ${mostBranches} characters may come next`,
  );
}

/** GBNF for fixed texts, as a tree of shared beginnings. */
export function textsGrammar(rules: GrammarRules, texts: readonly string[]): string {
  const sorted = [...new Set(texts)].sort();
  for (const text of sorted) rules.budget.spend(1 + Math.floor(text.length / 64));
  return branch(rules, sorted, 0);
}

function branch(rules: GrammarRules, sorted: readonly string[], from: number): string {
  const [first = "", last = ""] = [sorted[0], sorted.at(-1)];
  if (first === last) return literal(first.slice(from));
  // The texts are sorted, so all share what the first and the last share.
  let shared = from;
  while (shared < first.length && first.codePointAt(shared) === last.codePointAt(shared)) {
    shared += (first.codePointAt(shared) ?? 0) > 0xffff ? 2 : 1;
  }
  /** The characters after which the same may follow, by what follows. */
  const following = new Map<string, Range[]>();
  let mayEnd = false;
  for (let at = 0; at < sorted.length; ) {
    const code = sorted[at]?.codePointAt(shared);
    let end = at + 1;
    while (end < sorted.length && sorted[end]?.codePointAt(shared) === code) end++;
    if (code === undefined) mayEnd = true;
    else {
      const width = code > 0xffff ? 2 : 1;
      const rest = branch(rules, sorted.slice(at, end), shared + width);
      const codes = following.get(rest);
      if (codes === undefined) following.set(rest, [[code, code]]);
      else extend(codes, [code, code]);
    }
    at = end;
  }
  checkBranches(following.size);
  const options = [...following].map(([rest, codes]) => joinPieces([anyOf(codes), rest]));
  if (mayEnd) options.push('""');
  const start = first.slice(from, shared);
  const choice = options.join(" | ");
  const name = choice.length > longestPiece ? rules.add("of-values", choice) : `(${choice})`;
  return start === "" ? name : `${literal(start)} ${name}`;
}

const anyOf = (codes: readonly Range[]): string =>
  isOne(codes) ? literal(String.fromCodePoint(codes[0][0])) : gbnfClass(codes);
