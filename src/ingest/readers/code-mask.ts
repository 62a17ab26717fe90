/** A program with blanks in place of its strings and comments, so that brackets and words can be counted. */
import { Program, type TextRule } from "./code-syntax.ts";

const blank = 0x20;
const newline = 0x0a;

/** As long as the program, with the same lines. */
export function mask(code: string, rules: readonly TextRule[]): string {
  const program = new Program(code);
  // Two bytes a letter, of which blanks are written over: a program may have very many strings.
  const bytes = Buffer.from(code, "utf16le");
  const letters = new Uint16Array(bytes.buffer, bytes.byteOffset, code.length);
  // A sign that is never closed is none; looking for its end at each one would take too long.
  const unclosed = new Set<TextRule>();
  const pattern = new RegExp(rules.map(({ open }) => `(${open})`).join("|"), "gm");
  for (let found = pattern.exec(code); found !== null; found = pattern.exec(code)) {
    const rule = rules[ruleOf(found)];
    if (rule === undefined || unclosed.has(rule)) continue;
    const after = found.index + found[0].length;
    const extent = rule.reach(program, found.index, after, found[0]);
    if (extent === "unclosed") unclosed.add(rule);
    if (extent === undefined || extent === "unclosed") continue;
    for (let at = extent.from; at < extent.to; at += 1) {
      if (letters[at] !== newline) letters[at] = blank;
    }
    pattern.lastIndex = Math.max(extent.to, found.index + 1);
  }
  return bytes.toString("utf16le");
}

/** Which of the alternatives matched. */
function ruleOf(found: RegExpExecArray): number {
  let group = 1;
  while (group < found.length && found[group] === undefined) group += 1;
  return group - 1;
}
