/** The bytes that a token stands for, by itself. */
import type { LlamaModel, Token } from "node-llama-cpp";

export class TokenBytes {
  readonly #model: LlamaModel;
  readonly #encoder = new TextEncoder();

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  /** Null where the vocabulary does not say. */
  of(token: Token): readonly number[] | null {
    const { ggml } = this.#model.fileInfo.metadata.tokenizer;
    const piece = ggml.tokens[token];
    if (piece === undefined) return null;
    if (this.#model.isSpecialToken(token)) return this.#encode(piece);
    const byte = /^<0x([0-9A-F]{2})>$/.exec(piece)?.[1];
    if (byte !== undefined) return [Number.parseInt(byte, 16)];
    if (ggml.model === "gpt2") return [...piece].flatMap((character) => fromByteLevel(character));
    return this.#encode(piece.replaceAll("\u2581", " "));
  }

  #encode(text: string): number[] {
    return [...this.#encoder.encode(text)];
  }
}

/** Byte-level BPE writes each byte as a character; bytes that do not print are moved past U+0100. */
const byteLevel = new Map<string, number>();
for (let byte = 0, moved = 0; byte < 256; byte++) {
  const prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  byteLevel.set(String.fromCodePoint(prints ? byte : 256 + moved++), byte);
}

const fromByteLevel = (character: string): number[] => {
  const byte = byteLevel.get(character);
  return byte === undefined ? [...new TextEncoder().encode(character)] : [byte];
};
