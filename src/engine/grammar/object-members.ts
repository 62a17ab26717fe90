/** The members of an object as GBNF: in their order, optional ones perhaps left out. */
import type { GrammarRules } from "./rules.ts";

export interface MemberText {
  text: string;
  required: boolean;
}

/** Members with commas only between them. A text has one reading, told by the names of its members. */
export function membersGrammar(rules: GrammarRules, members: readonly MemberText[]): string {
  const separator = `${rules.space()} "," ${rules.space()}`;
  /** What may come at a place where a member is due, from the last member back to the first. */
  let due = "";
  let mayEnd = true;
  for (let at = members.length - 1; at >= 0; at--) {
    const { text, required } = members[at] ?? { text: "", required: true };
    const more = due === "" ? "" : mayEnd ? `(${separator} ${due})?` : `${separator} ${due}`;
    const written = `${text} ${more}`;
    due = required || due === "" ? written : `(${written} | ${due})`;
    mayEnd &&= !required;
    // After an optional member the rest is written twice, after it and in its place: a rule writes it once.
    if (members[at - 1]?.required === false) due = rules.add("of-members", due);
  }
  return mayEnd ? `(${due})?` : due;
}
