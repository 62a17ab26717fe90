/** Log probabilities in the older form: lists side by side, with the place of each token in the text. */
import type { GenerationEvent, TokenLogprob } from "../../../core/ports/chat-engine.ts";
import type { Completion } from "./schema.ts";

type Logprobs = NonNullable<Completion["choices"][number]["logprobs"]>;
type TextEvent = Extract<GenerationEvent, { type: "text" }>;

const noLogprobs = (): Logprobs => ({
  tokens: [],
  token_logprobs: [],
  top_logprobs: [],
  text_offset: [],
});

/** Follows the text of one choice, since a token's place counts from where it begins. */
export class ChoiceLogprobs {
  #offset = 0;
  /** The places in the prompt, whose tokens may come in several pieces. */
  #prompt: TextPlaces | undefined;

  /** Those of the next piece; undefined where none are asked for. */
  of({ text, logprobs, echoed }: TextEvent): Logprobs | undefined {
    const begins = echoed === true && this.#prompt === undefined;
    const places = this.#placesIn(text, echoed === true);
    if (logprobs === undefined) return undefined;
    const all = noLogprobs();
    for (const token of logprobs) {
      // Nothing comes before the first token of a prompt.
      const isFirst = begins && all.tokens.length === 0;
      all.tokens.push(tokenText(token));
      all.token_logprobs.push(isFirst ? null : token.logprob);
      all.top_logprobs.push(isFirst ? null : toTop([...token.top, token]));
      all.text_offset.push(places.next(token.bytes));
    }
    return all;
  }

  #placesIn(text: string, isPrompt: boolean): TextPlaces {
    const start = this.#offset;
    this.#offset += characters(text);
    if (!isPrompt) return new TextPlaces(text, start);
    this.#prompt ??= new TextPlaces(text, start);
    return this.#prompt;
  }
}

/** Where tokens begin in the text that they make. */
class TextPlaces {
  readonly #text: string;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** In UTF-16 units, and in characters. */
  #at = 0;
  #characters: number;

  /** `start`: where the text begins. */
  constructor(text: string, start: number) {
    this.#text = text;
    this.#characters = start;
  }

  next(bytes: readonly number[]): number {
    const place = this.#characters;
    const written = this.#decoder.decode(Uint8Array.from(bytes), { stream: true });
    // The space that a tokenizer puts before a text is not in it, and a special token has no text.
    const part = [written, written.replace(/^ /, "")].find((one) =>
      this.#text.startsWith(one, this.#at),
    );
    this.#at += part?.length ?? 0;
    this.#characters += characters(part ?? "");
    return place;
  }
}

const toTop = (tokens: readonly TokenLogprob[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token) => [tokenText(token), token.logprob]));

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Parts of a character would all look alike, so they are written as their bytes. */
function tokenText({ bytes }: TokenLogprob): string {
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
  }
}

/** Code points, as the API counts them. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const names = ["tokens", "token_logprobs", "top_logprobs", "text_offset"] as const;

/** Those of one choice, written as JSON while they come: a long prompt's would hold the loop at the end. */
export class WrittenLogprobs {
  readonly #parts = names.map((name): { name: keyof Logprobs; written: string[] } => ({
    name,
    written: [],
  }));

  add(more: Logprobs): void {
    if (more.tokens.length === 0) return;
    for (const { name, written } of this.#parts) {
      written.push(JSON.stringify(more[name]).slice(1, -1));
    }
  }

  get json(): string {
    const lists = this.#parts.map(({ name, written }) => `"${name}":[${written.join(",")}]`);
    return `{${lists.join(",")}}`;
  }
}
