/** Parses tool calls as they are generated; a grammar guarantees their syntax. */

/** How a model's template writes calls: `<prefix>name<paramsPrefix>{…}<suffix>`, `<between>` and again. */
export interface CallSyntax {
  prefix: string;
  paramsPrefix: (name: string) => string;
  suffix: (name: string) => string;
  between: string;
}

export type CallPart =
  | { type: "name"; index: number; name: string }
  | { type: "arguments"; index: number; text: string };

export class ToolCallParser {
  readonly #names: readonly string[];
  readonly #syntax: CallSyntax;
  #buffer = "";
  #index = -1;
  #current = "";
  #state: "name" | "arguments" | "after" = "name";
  #scanner = new ObjectScanner();

  /** The first call's prefix has been read already. */
  constructor(names: readonly string[], syntax: CallSyntax) {
    this.#names = names;
    this.#syntax = syntax;
  }

  get complete(): boolean {
    return this.#state === "after";
  }

  push(text: string): CallPart[] {
    this.#buffer += text;
    const parts: CallPart[] = [];
    for (let part = this.#next(); part !== undefined; part = this.#next()) parts.push(part);
    return parts;
  }

  #next(): CallPart | undefined {
    if (this.#state === "name") return this.#readName();
    return this.#state === "arguments" ? this.#readArguments() : this.#readBetween();
  }

  #readName(): CallPart | undefined {
    for (const name of this.#names) {
      const head = `${name}${this.#syntax.paramsPrefix(name)}`;
      if (!this.#buffer.startsWith(head)) continue;
      this.#buffer = this.#buffer.slice(head.length);
      this.#current = name;
      this.#state = "arguments";
      this.#scanner = new ObjectScanner();
      this.#index++;
      return { type: "name", index: this.#index, name };
    }
    return undefined;
  }

  #readArguments(): CallPart | undefined {
    if (this.#buffer === "") return undefined;
    const length = this.#scanner.scan(this.#buffer);
    const text = this.#buffer.slice(0, length);
    this.#buffer = this.#buffer.slice(length);
    if (this.#scanner.complete) this.#state = "after";
    return { type: "arguments", index: this.#index, text };
  }

  #readBetween(): CallPart | undefined {
    const { suffix, between, prefix } = this.#syntax;
    const gap = `${suffix(this.#current)}${between}${prefix}`;
    if (!this.#buffer.startsWith(gap)) return undefined;
    this.#buffer = this.#buffer.slice(gap.length);
    this.#state = "name";
    return this.#readName();
  }
}

class ObjectScanner {
  #depth = 0;
  #inString = false;
  #escaped = false;
  complete = false;

  scan(text: string): number {
    for (let at = 0; at < text.length; at++) {
      this.#read(text.charAt(at));
      if (this.complete) return at + 1;
    }
    return text.length;
  }

  #read(character: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (this.#inString) {
      if (character === "\\") this.#escaped = true;
      else if (character === '"') this.#inString = false;
    } else if (character === '"') this.#inString = true;
    else if (character === "{" || character === "[") this.#depth++;
    else if (character === "}" || character === "]") {
      this.#depth--;
      this.complete = this.#depth === 0;
    }
  }
}
