/** What of a program is text: how strings and comments begin, and how far they reach. */

/** From where to where is text; `undefined` where none begins here, `unclosed` where it never ends. */
type Extent = { from: number; to: number } | "unclosed" | undefined;

export interface TextRule {
  /** What begins it, as the source of a regular expression. */
  open: string;
  /** `at` is where the opening begins, `after` where it ends. */
  reach(program: Program, at: number, after: number, opening: string): Extent;
}

const escaped = (text: string): string => text.replace(/[$()*+.?[\\\]^{|}/-]/g, "\\$&");

const upTo = (code: string, at: number, after: number, close: string): Extent => {
  const end = code.indexOf(close, after);
  return end === -1 ? "unclosed" : { from: at, to: end + close.length };
};

/** A comment to the end of its line. */
export const lineComment = (open: string, source = escaped(open)): TextRule => ({
  open: source,
  reach: ({ code }, at, after) => {
    const end = code.indexOf("\n", after);
    return { from: at, to: end === -1 ? code.length : end };
  },
});

/** From one sign to another, with no way to write the second one inside. */
export const between = (open: string, close = open): TextRule => ({
  open: escaped(open),
  reach: ({ code }, at, after) => upTo(code, at, after, close),
});

/** Comments that may hold comments. */
export const nested = (open: string, close: string): TextRule => {
  const signs = new RegExp(`${escaped(open)}|${escaped(close)}`, "g");
  return {
    open: escaped(open),
    reach: ({ code }, at, after) => {
      let depth = 1;
      for (const { 0: sign, index } of matchesFrom(signs, code, after)) {
        depth += sign === open ? 1 : -1;
        if (depth === 0) return { from: at, to: index + sign.length };
      }
      return "unclosed";
    },
  };
};

/** A string with backslashes, which ends with its line at the latest unless it is `long`. */
export const quoted = (quote: string, { long = false } = {}): TextRule => {
  const signs = new RegExp(`\\\\[^]|${escaped(quote)}${long ? "" : "|\\n"}`, "g");
  return {
    open: escaped(quote),
    reach: ({ code }, at, after) => {
      for (const { 0: sign, index } of matchesFrom(signs, code, after)) {
        if (sign === quote) return { from: at, to: index + sign.length };
        // A backslash may stand before the end of the line.
        if (sign === "\n" || (!long && sign === "\\\n")) return { from: at, to: index };
      }
      return long ? "unclosed" : { from: at, to: code.length };
    },
  };
};

/** One character between quotes; a lone quote, as before a lifetime in Rust, is nothing. */
export const character: TextRule = {
  open: "'",
  reach: ({ code }, at) => {
    const found = /^'(?:\\[^\n]{1,10}?|[^\\'\n]{1,4})'/.exec(code.slice(at, at + 16));
    return found === null ? undefined : { from: at, to: at + found[0].length };
  },
};

/** `r#"…"#` of Rust, `R"x(…)x"` of C++. */
export const rawString: TextRule = {
  open: String.raw`\b(?:b?r#*"|(?:u8?|[UL])?R"[^()\\\s]{0,16}\()`,
  reach: ({ code }, at, after, opening) => {
    const [, hashes = "", delimiter] = /r(#*)"|R"([^(]*)\(/.exec(opening) ?? [];
    return upTo(code, at, after, delimiter === undefined ? `"${hashes}` : `)${delimiter}"`);
  },
};

/** `$tag$…$tag$` of PostgreSQL. */
export const dollarQuoted: TextRule = {
  open: String.raw`\$(?:[A-Za-z_]\w{0,60})?\$`,
  reach: ({ code }, at, after, opening) => upTo(code, at, after, opening),
};

/** The lines after `<<WORD`, up to the one that says the word. */
export const hereDocument = (open: string): TextRule => ({
  open,
  reach: (program, _at, after, opening) => {
    const word = /\w+/.exec(opening)?.[0] ?? "";
    const start = program.code.indexOf("\n", after);
    const end = start === -1 ? undefined : program.lineOf(word, start);
    return end === undefined ? undefined : { from: start, to: end };
  },
});

export class Program {
  readonly code: string;
  /** Up to here a regular expression was looked for in vain, and is not looked for again. */
  noRegexBefore = 0;
  /** Where lines end that say one word, by the word; looked up once, not for each `<<`. */
  #wordLines: Map<string, number[]> | undefined;

  constructor(code: string) {
    this.code = code;
  }

  /** Where the first line after `from` ends that says `word` alone. */
  lineOf(word: string, from: number): number | undefined {
    this.#wordLines ??= wordLines(this.code);
    const ends = this.#wordLines.get(word) ?? [];
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) <= from + word.length) low = middle + 1;
      else high = middle;
    }
    return ends[low];
  }
}

function wordLines(code: string): Map<string, number[]> {
  const lines = new Map<string, number[]>();
  for (const found of code.matchAll(/^[ \t]{0,100}(\w{1,100})[;,)]{0,9}$/gm)) {
    const word = found[1] ?? "";
    const end = found.index + found[0].length;
    const ends = lines.get(word);
    if (ends === undefined) lines.set(word, [end]);
    else ends.push(end);
  }
  return lines;
}

/** Its matches from a place on; one walk at a time, since the pattern knows where it is. */
function* matchesFrom(
  pattern: RegExp,
  code: string,
  from: number,
): Generator<RegExpExecArray, undefined> {
  pattern.lastIndex = from;
  for (let found = pattern.exec(code); found !== null; found = pattern.exec(code)) yield found;
}
