/** A program with blanks in place of its strings and comments, so that brackets and words can be counted. */
import { Program, type TextRule } from "./code-syntax.ts";

/** As long as the program, with the same lines. */
export function mask(code: string, rules: readonly TextRule[]): string {
  const program = new Program(code);
  const pieces: string[] = [];
  // A sign that is never closed is none; looking for its end at each one would take too long.
  const unclosed = new Set<TextRule>();
  const pattern = new RegExp(rules.map(({ open }) => `(${open})`).join("|"), "gm");
  let copied = 0;
  for (let found = pattern.exec(code); found !== null; found = pattern.exec(code)) {
    const [opening] = found;
    const rule = rules[found.slice(1).findIndex((group) => group !== undefined)];
    const after = found.index + opening.length;
    if (rule === undefined || unclosed.has(rule)) continue;
    const extent = rule.reach(program, found.index, after, opening);
    if (extent === "unclosed") unclosed.add(rule);
    if (extent === undefined || extent === "unclosed") continue;
    pieces.push(code.slice(copied, extent.from), blank(code.slice(extent.from, extent.to)));
    copied = extent.to;
    pattern.lastIndex = Math.max(extent.to, found.index + 1);
  }
  pieces.push(code.slice(copied));
  return pieces.join("");
}

const blank = (text: string): string => text.replace(/[^\n]/g, " ");
