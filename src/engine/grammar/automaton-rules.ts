/** Automata, and lists of fixed values, as GBNF in which each text has one reading. */
import type { Automaton } from "./automaton.ts";
import { mostBranches, OverBudget } from "./budget.ts";
import { extend, gbnfClass, isOne, type Range } from "./character-class.ts";
import { type GrammarRules, literal } from "./rules.ts";

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
  const piece = (ranges: readonly Range[]): string => {
    const text = render(ranges);
    return text.length > longestPiece ? rules.add("of-set", text) : text;
  };
  /** What is read after an edge to a state, in the same alternative as far as it goes. */
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

/** Literals side by side are one. */
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

/** GBNF for a few fixed texts, which share what they begin with. */
export function textsGrammar(rules: GrammarRules, texts: readonly string[]): string {
  const sorted = [...new Set(texts)].sort();
  for (const text of sorted) rules.budget.spend(1 + Math.floor(text.length / 64));
  return branch(rules, sorted, 0);
}

function branch(rules: GrammarRules, sorted: readonly string[], from: number): string {
  const [first = "", last = ""] = [sorted[0], sorted.at(-1)];
  if (first === last) return literal(first.slice(from));
  // All begin as the first and the last do, since they are in order.
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

/** One of several characters. */
const anyOf = (codes: readonly Range[]): string =>
  isOne(codes) ? literal(String.fromCodePoint(codes[0][0])) : gbnfClass(codes);
