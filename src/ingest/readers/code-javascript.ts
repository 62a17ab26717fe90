/** Strings of JavaScript that hold programs, and regular expressions, which look like divisions. */
import { Program, quoted, type TextRule } from "./code-syntax.ts";

/** Templates within templates; deeper ones are not looked into. */
const deepest = 32;

/** A template with all that stands in its `${…}`. */
export const template: TextRule = {
  open: "`",
  reach: ({ code }, at, after) => {
    const to = templateEnd(code, after, 0);
    return to === undefined ? "unclosed" : { from: at, to };
  },
};

const inTemplate = /\\.|`|\$\{/gs;
const inExpression = /[{}`"']/g;

function next(pattern: RegExp, code: string, from: number): RegExpExecArray | undefined {
  pattern.lastIndex = from;
  return pattern.exec(code) ?? undefined;
}

function templateEnd(code: string, from: number, depth: number): number | undefined {
  let at = from;
  while (true) {
    const found = next(inTemplate, code, at);
    if (found === undefined || depth > deepest) return undefined;
    const after = found.index + found[0].length;
    if (found[0] === "`") return after;
    if (found[0] !== "${") at = after;
    else {
      const end = expressionEnd(code, after, depth);
      if (end === undefined) return undefined;
      at = end;
    }
  }
}

/** Behind the brace that closes an expression in a template. */
function expressionEnd(code: string, from: number, depth: number): number | undefined {
  let open = 1;
  let at = from;
  while (true) {
    const found = next(inExpression, code, at);
    if (found === undefined) return undefined;
    at = found.index + found[0].length;
    if (found[0] === "{") open += 1;
    else if (found[0] === "}") open -= 1;
    else if (found[0] === "`") {
      const end = templateEnd(code, at, depth + 1);
      if (end === undefined) return undefined;
      at = end;
    } else {
      const text = quoted(found[0]).reach(new Program(code), found.index, at, found[0]);
      if (typeof text === "object") at = text.to;
    }
    if (open === 0) return at;
  }
}

const longestRegex = 1000;
/** After these a slash begins a regular expression; after a value it divides. */
const beforeRegex =
  /(?:^|[(,=:[!&|?{;+*%~^>-]|\b(?:return|typeof|case|in|of|void|throw|else|do|await|yield))\s{0,20}$/;

export const regex: TextRule = {
  open: "/(?![/*])",
  reach: (program, at, after) => {
    const { code } = program;
    if (at < program.noRegexBefore) return undefined;
    if (!beforeRegex.test(code.slice(Math.max(0, at - 32), at))) return undefined;
    let inClass = false;
    const end = Math.min(code.length, after + longestRegex);
    let index = after;
    for (; index < end && code[index] !== "\n"; index += 1) {
      const sign = code[index];
      if (sign === "\\") index += 1;
      else if (sign === "[") inClass = true;
      else if (sign === "]") inClass = false;
      else if (sign === "/" && !inClass) return { from: at, to: index + 1 };
    }
    program.noRegexBefore = index;
    return undefined;
  },
};
