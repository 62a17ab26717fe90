/** Log probabilities of text completions: parallel lists, with each token's offset in the text. */
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

/** Tracks the text of one choice, since offsets count from its beginning. */
export class ChoiceLogprobs {
  #offset = 0;
  /** Offsets in the prompt, whose tokens may arrive in several events. */
  #prompt: TextPlaces | undefined;

  /** The log probabilities of the next event, if they were requested. */
  of({ text, logprobs, echoed }: TextEvent): Logprobs | undefined {
    const begins = echoed === true && this.#prompt === undefined;
    const places = this.#placesIn(text, echoed === true);
    if (logprobs === undefined) return undefined;
    const all = noLogprobs();
    for (const token of logprobs) {
      // The first token of a prompt has no context, so no probability.
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

class TextPlaces {
  readonly #text: string;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The position in UTF-16 units; `#characters` is the same in code points. */
  #at = 0;
  #characters: number;

  /** `start`: the offset of the text. */
  constructor(text: string, start: number) {
    this.#text = text;
    this.#characters = start;
  }

  next(bytes: readonly number[]): number {
    const place = this.#characters;
    const written = this.#decoder.decode(Uint8Array.from(bytes), { stream: true });
    // The text lacks the space that a tokenizer puts before it, and special tokens have no text.
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

/** Incomplete characters would all look the same, so they are written as bytes. */
function tokenText({ bytes }: TokenLogprob): string {
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
  }
}

/** The length in code points, the unit of the API. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const names = ["tokens", "token_logprobs", "top_logprobs", "text_offset"] as const;

/** A choice's logprobs, serialized as they come: at the end, long ones would block the loop. */
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
