/** The prompt log: what is asked and answered, only where the operator wants it logged. */
import type { Log } from "../../core/log.ts";

const longestKey = 128;
/** Characters and values of one line: nothing else is done while it is written. */
const most = { characters: 65_536, values: 1024 };

export class PromptLog {
  readonly #log: Log | undefined;

  /** Without a log nothing is written. */
  constructor(log?: Log) {
    this.#log = log;
  }

  get isOn(): boolean {
    return this.#log !== undefined;
  }

  /** `id`: the request's. */
  asked(id: string, prompt: object): void {
    this.#write("a prompt", id, prompt);
  }

  answered(id: string, answer: object): void {
    this.#write("an answer", id, answer);
  }

  #write(message: string, id: string, fields: object): void {
    if (this.#log === undefined) return;
    const left = { ...most };
    const shown = Object.entries(fields).map(([name, value]) => [name, shorten(value, left)]);
    this.#log.info(message, { id, ...Object.fromEntries(shown) });
  }
}

/** The value as far as there is room; what is left out is said in its place. */
function shorten(value: unknown, left: { characters: number; values: number }): unknown {
  left.values--;
  if (typeof value === "string") {
    const kept = value.slice(0, left.characters);
    left.characters -= kept.length;
    return kept === value ? value : `${kept}… (${value.length - kept.length} characters more)`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).slice(0, Math.max(0, left.values));
    return Object.fromEntries(
      entries.map(([key, part]) => [key.slice(0, longestKey), shorten(part, left)]),
    );
  }
  const items: unknown[] = [];
  for (const item of value) {
    if (left.values <= 0 || left.characters <= 0) {
      items.push(`… (${value.length - items.length} more)`);
      break;
    }
    items.push(shorten(item, left));
  }
  return items;
}
