/** The lines of a program, and where what begins on one of them ends: each question takes one step, however long the program. */

/** Stands for no line. */
const none = -1;

export class CodeLines {
  /** As they are written. */
  readonly raw: readonly string[];
  /** Without strings and comments. */
  readonly masked: readonly string[];
  readonly #indents: Int32Array;
  /** Whether something is left of a line without strings and comments. */
  readonly #filled: Uint8Array;
  /** How many brackets are open before each line. */
  readonly #depths: Int32Array;
  /** The first line, from each on, at whose end no more brackets are open than at its beginning. */
  readonly #closed: Int32Array;
  /** The next line that is indented as far as each one, or less. */
  readonly #outer: Int32Array;

  constructor(code: string, masked: string, brackets: RegExp) {
    this.raw = code.split("\n");
    this.masked = masked.split("\n");
    const count = this.raw.length;
    this.#indents = Int32Array.from(this.raw, indentOf);
    this.#filled = Uint8Array.from(this.masked, (line) => (/\S/.test(line) ? 1 : 0));
    this.#depths = new Int32Array(count + 1);
    this.masked.forEach((line, at) => {
      let depth = this.#depths[at] ?? 0;
      for (const sign of line.match(brackets) ?? []) depth += "([{".includes(sign) ? 1 : -1;
      this.#depths[at + 1] = depth;
    });
    this.#closed = nextNotAbove(this.#depths, count).map((line) =>
      line === none ? none : line - 1,
    );
    // A line with a closing bracket alone goes on with what is above it.
    const stands = (at: number): boolean =>
      this.isFilled(at) && !/^\s*[)\]}]/.test(this.masked[at] ?? "");
    this.#outer = nextNotAbove(this.#indents, count, stands);
  }

  get count(): number {
    return this.raw.length;
  }

  isFilled(at: number): boolean {
    return this.#filled[at] === 1;
  }

  isBlank(at: number): boolean {
    return (this.raw[at] ?? "").trim() === "";
  }

  /** A line that is a comment, and not a string alone. */
  isComment(at: number): boolean {
    return !this.isFilled(at) && /^\s*[^\s"'`]/.test(this.raw[at] ?? "");
  }

  indent(at: number): number {
    return this.#indents[at] ?? 0;
  }

  /** Where the brackets that open on a line are closed again; undefined where they never are. */
  closed(at: number): number | undefined {
    const line = this.#closed[at];
    return line === undefined || line === none ? undefined : line;
  }

  /** The next line that is indented as far, or less; the one behind the last where there is none. */
  outer(at: number): number {
    const line = this.#outer[at];
    return line === undefined || line === none ? this.count : line;
  }

  /** The first of these lines that opens a brace, other than within parentheses. */
  opening(first: number, last: number): number | undefined {
    let inside = 0;
    for (let at = first; at <= last; at += 1) {
      for (const sign of (this.masked[at] ?? "").match(/[()[\]{]/g) ?? []) {
        if (sign !== "{") inside += "([".includes(sign) ? 1 : -1;
        else if (inside <= 0) return at;
      }
    }
    return undefined;
  }
}

const tab = 8;

function indentOf(line: string): number {
  let width = 0;
  for (const sign of line) {
    if (sign === " ") width += 1;
    else if (sign === "\t") width += tab;
    else break;
  }
  return width;
}

/** For each place the next one whose value is not above its own, in one walk with a stack. */
function nextNotAbove(
  values: Int32Array,
  count: number,
  counts: (at: number) => boolean = () => true,
): Int32Array {
  const next = new Int32Array(count).fill(none);
  const waiting: number[] = [];
  for (let at = 0; at < values.length; at += 1) {
    if (!counts(at)) continue;
    const value = values[at] ?? 0;
    for (let last = waiting.at(-1); last !== undefined; last = waiting.at(-1)) {
      if ((values[last] ?? 0) < value) break;
      next[last] = at;
      waiting.pop();
    }
    if (at < count) waiting.push(at);
  }
  return next;
}
