/** The regular part of GBNF, that without rules, as a RegExp for whole texts. */

export function gbnfToRegExp(gbnf: string): RegExp {
  return new RegExp(`^(?:${convert(gbnf)})$`, "u");
}

function convert(gbnf: string): string {
  let source = "";
  let at = 0;
  const take = (): string => {
    const character = String.fromCodePoint(gbnf.codePointAt(at) ?? 0);
    at += character.length;
    return character;
  };
  /** A character of a literal or a class, perhaps escaped. */
  const one = (): string => {
    const character = take();
    if (character !== "\\") return character;
    const kind = take();
    const digits = { x: 2, u: 4, U: 8 }[kind];
    if (digits === undefined) return kind;
    const code = Number.parseInt(gbnf.slice(at, at + digits), 16);
    at += digits;
    return String.fromCodePoint(code);
  };
  const literal = (): string => {
    let text = "";
    while (gbnf[at] !== '"') text += escaped(one());
    at++;
    return text === "" ? "(?:x){0}" : `(?:${text})`;
  };
  const characterClass = (): string => {
    let content = "";
    if (gbnf[at] === "^") content += take();
    while (gbnf[at] !== "]") {
      content += escaped(one());
      // A hyphen before another member makes a range.
      if (gbnf[at] === "-" && gbnf[at + 1] !== "]") content += take() + escaped(one());
    }
    at++;
    return `[${content}]`;
  };
  while (at < gbnf.length) {
    const character = take();
    if (character === '"') source += literal();
    else if (character === "[") source += characterClass();
    else if (character === "(") source += "(?:";
    else if (/\s/.test(character)) continue;
    else if (/[)|*+?{},0-9]/.test(character)) source += character;
    else throw new Error(`'${character}' is not regular GBNF in: ${gbnf}`);
  }
  return source;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? character : `\\u${code.toString(16).padStart(4, "0")}`;
}
