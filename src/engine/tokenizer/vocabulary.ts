/** A model's vocabulary: the bytes of its tokens, the text that they make, and which ids are tokens. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { NodeError } from "../../core/errors.ts";
import { toToken } from "../native/sampler.ts";
import type { LoopYield } from "./sliced-tokenizer.ts";

/** Kinds of tokens as GGUF numbers them. */
const kinds = { normal: 1, userDefined: 4, unused: 5, byte: 6 } as const;

/** Kinds that are written out in a text: unknown, control and user-defined. */
export const markerKinds: ReadonlySet<number> = new Set([2, 3, 4]);

export class TokenBytes {
  /** Whether the vocabulary's kind defines which bytes a token represents. */
  readonly known: boolean;
  /** Whether the tokenizer adds a space before the first token, which is no part of the text. */
  readonly leadingSpace: boolean;
  readonly #model: LlamaModel;
  readonly #pieces: readonly string[];
  readonly #kinds: readonly number[];
  readonly #byteLevel: boolean;
  readonly #cache = new Map<Token, Uint8Array>();

  constructor(model: LlamaModel) {
    const { ggml } = model.fileInfo.metadata.tokenizer;
    this.#model = model;
    this.#pieces = ggml.tokens;
    this.#kinds = ggml.token_type ?? [];
    this.#byteLevel = ggml.model === "gpt2";
    this.leadingSpace = ggml.model === "llama" && ggml.add_space_prefix !== false;
    this.known = this.#byteLevel || ggml.model === "llama";
  }

  isSpecial(token: Token): boolean {
    const kind = this.#kinds[token] ?? kinds.normal;
    return kind !== kinds.normal && kind !== kinds.userDefined && kind !== kinds.byte;
  }

  /** Whether a text ends at it: the next one begins with a space again, in vocabularies that add one. */
  isMarker(token: Token): boolean {
    return markerKinds.has(this.#kinds[token] ?? kinds.normal);
  }

  /** Whether the next token begins a text with a space that is not part of it. */
  dropsSpaceAfter(before: readonly Token[]): boolean {
    if (!this.leadingSpace || before.length > 1) return false;
    return before.length === 0 || before[0] === this.#model.tokens.bos;
  }

  /** Token ids of a caller as tokens of the vocabulary; `refuse`: the error if there is no such token. */
  tokensOf(ids: Iterable<number>, refuse: (why: string) => NodeError): Token[] {
    const count = this.#pieces.length;
    return Array.from(ids, (id) => {
      if (Number.isInteger(id) && id >= 0 && id < count) return toToken(id);
      throw refuse(`names the token ${id}; this model has the tokens 0 to ${count - 1}.`);
    });
  }

  piece(token: Token): string {
    return this.#pieces[token] ?? "";
  }

  of(token: Token): Uint8Array {
    const cached = this.#cache.get(token);
    if (cached !== undefined) return cached;
    const bytes = this.known
      ? this.#read(token)
      : encoder.encode(this.#model.detokenize([token], true));
    this.#cache.set(token, bytes);
    return bytes;
  }

  #read(token: Token): Uint8Array {
    const piece = this.piece(token);
    const kind = this.#kinds[token] ?? kinds.normal;
    if (kind === kinds.byte) return Uint8Array.of(Number.parseInt(piece.slice(3, 5), 16));
    if (kind !== kinds.normal) return encoder.encode(piece);
    if (!this.#byteLevel) return encoder.encode(piece.replaceAll("\u2581", " "));
    return Uint8Array.from([...piece].flatMap(fromByteLevel));
  }
}

const encoder = new TextEncoder();

/** Byte-level BPE writes each byte as a character; bytes that do not print are moved past U+0100. */
const byteLevel = new Map<string, number>();
for (let byte = 0, moved = 0; byte < 256; byte++) {
  const prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  byteLevel.set(String.fromCodePoint(prints ? byte : 256 + moved++), byte);
}

function fromByteLevel(character: string): number[] {
  const byte = byteLevel.get(character);
  return byte === undefined ? [...encoder.encode(character)] : [byte];
}

/** Tokens of a slice, which takes about a millisecond. */
const sliceLength = 2048;
/** How many tokens before it tell how a token is written. */
const contextLength = 3;

interface DetokenizeOptions {
  /** Whether special tokens are written out; they have no text otherwise. */
  special: boolean;
  loop: LoopYield;
}

/** The text of tokens, written in slices that yield to the event loop. */
export async function detokenize(
  model: LlamaModel,
  tokenBytes: TokenBytes,
  tokens: readonly Token[],
  options: DetokenizeOptions,
): Promise<string> {
  if (tokenBytes.known) return await joinBytes(tokenBytes, tokens, options);
  let text = "";
  for (let from = 0; from < tokens.length; from += sliceLength) {
    const slice = tokens.slice(from, from + sliceLength);
    const before = tokens.slice(Math.max(0, from - contextLength), from);
    text += model.detokenize(slice, options.special, before);
    await options.loop.yieldIfDue();
  }
  // WordPiece writes a space before every word, the first one too.
  const { model: kind } = model.fileInfo.metadata.tokenizer.ggml;
  return kind === "bert" ? text.replace(/^ /, "") : text;
}

async function joinBytes(
  tokenBytes: TokenBytes,
  tokens: readonly Token[],
  { special, loop }: DetokenizeOptions,
): Promise<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  // The tokenizer adds a space at the start of a text and after special tokens; it is not part of the text.
  let drops = tokenBytes.leadingSpace;
  for (let from = 0; from < tokens.length; from += sliceLength) {
    for (const token of tokens.slice(from, from + sliceLength)) {
      const isDropped = drops && tokenBytes.of(token)[0] === space && !tokenBytes.isMarker(token);
      drops = tokenBytes.leadingSpace && tokenBytes.isMarker(token);
      if (!special && tokenBytes.isSpecial(token)) continue;
      const bytes = tokenBytes.of(token);
      text += decoder.decode(isDropped ? bytes.subarray(1) : bytes, { stream: true });
    }
    await loop.yieldIfDue();
  }
  return text + decoder.decode();
}

const space = 0x20;
