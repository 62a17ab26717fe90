/** A grammar under construction in llama.cpp's GBNF: named rules, and the pieces that JSON is made of. */

export class GrammarRules {
  readonly #rules = new Map<string, string>();

  /** Defines a rule, under its name or a name made unique, and returns the name to refer to it by. */
  add(name: string, body: string): string {
    const base = name.replace(/[^A-Za-z0-9-]/g, "-") || "rule";
    let unique = base;
    for (let count = 2; this.#rules.has(unique); count++) {
      if (this.#rules.get(unique) === body) return unique;
      unique = `${base}-${count}`;
    }
    this.#rules.set(unique, body);
    return unique;
  }

  /** Takes a name before its body is known, so that a rule can refer to itself. */
  reserve(name: string): string {
    return this.add(name, `"reserved ${this.#rules.size}"`);
  }

  define(name: string, body: string): void {
    this.#rules.set(name, body);
  }

  toString(root: string): string {
    return [`root ::= ${root}`, ...[...this.#rules].map(([name, body]) => `${name} ::= ${body}`)]
      .join("\n")
      .concat("\n");
  }

  /** White space between JSON's parts: none, one space, or a line break with its indentation. */
  space(): string {
    return this.add("space", '| " " | "\\n" [ ]{0,16}');
  }

  /** One character inside a JSON string. */
  character(): string {
    return this.add("char", `${plainCharacter} | "\\\\" (["\\\\bfnrt/] | "u" [0-9a-fA-F]{4})`);
  }

  string(): string {
    return this.add("string", `"\\"" ${this.character()}* "\\""`);
  }

  integer(): string {
    return this.add("integer", '"-"? ("0" | [1-9] [0-9]{0,14})');
  }

  number(): string {
    return this.add("number", `${this.integer()} ${fraction}? ([eE] [-+]? [0-9]{1,2})?`);
  }

  boolean(): string {
    return this.add("boolean", '"true" | "false"');
  }

  null(): string {
    return this.add("null", '"null"');
  }

  /** Any JSON value. */
  value(): string {
    const members = `${this.object()} | ${this.array()} | ${this.string()} | ${this.number()}`;
    return this.add("value", `${members} | ${this.boolean()} | ${this.null()}`);
  }

  object(): string {
    const [space, string] = [this.space(), this.string()];
    const member = `${string} ":" ${space} value`;
    return this.add(
      "object",
      `"{" ${space} (${member} (${space} "," ${space} ${member})*)? ${space} "}"`,
    );
  }

  array(): string {
    const space = this.space();
    return this.add("array", `"[" ${space} (value (${space} "," ${space} value)*)? ${space} "]"`);
  }
}

/** A character that JSON needs not escape: no control character, quote, backslash or surrogate. */
export const plainCharacter =
  "[\\x20-\\x21\\x23-\\x5B\\x5D-\\x7E\\u00A0-\\uD7FF\\uE000-\\U0010FFFF]";

export const fraction = '("." [0-9]{1,15})';

/** A text as a GBNF literal. */
export function literal(text: string): string {
  const escaped = [...text]
    .map((character) => {
      const code = character.codePointAt(0) ?? 0;
      if (character === '"' || character === "\\") return `\\${character}`;
      if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
      return character;
    })
    .join("");
  return `"${escaped}"`;
}

/** A JSON value as a GBNF literal, in its shortest form. */
export const jsonLiteral = (value: unknown): string => literal(JSON.stringify(value));
