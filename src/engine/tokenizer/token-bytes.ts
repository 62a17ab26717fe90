/** The bytes that each token stands for, from the model's vocabulary. */
import type { LlamaModel, Token } from "node-llama-cpp";

/** Kinds of tokens as GGUF numbers them. */
const kinds = { normal: 1, userDefined: 4, unused: 5, byte: 6 } as const;

/** Those that stand for themselves in a text: unknown, control and user-defined. */
export const markerKinds: ReadonlySet<number> = new Set([2, 3, 4]);

export class TokenBytes {
  /** Whether the vocabulary is of a kind that says which bytes a token stands for. */
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

  /** Whether it is a special token, which has no text. */
  isSpecial(token: Token): boolean {
    const kind = this.#kinds[token] ?? kinds.normal;
    return kind !== kinds.normal && kind !== kinds.userDefined && kind !== kinds.byte;
  }

  /** Whether a text breaks off at it: what follows begins with a space again, where texts do. */
  isMarker(token: Token): boolean {
    return markerKinds.has(this.#kinds[token] ?? kinds.normal);
  }

  /** Whether what follows begins a text, and with a space that is no part of it. */
  dropsSpaceAfter(before: readonly Token[]): boolean {
    if (!this.leadingSpace || before.length > 1) return false;
    return before.length === 0 || before[0] === this.#model.tokens.bos;
  }

  /** The token as the vocabulary writes it. */
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
