/** How many bytes of text the longest token of a vocabulary stands for. */

export interface Vocabulary {
  readonly model: string;
  readonly tokens: readonly string[];
  /** Kinds of the tokens, as GGUF numbers them; 1: normal. */
  readonly token_type?: readonly number[];
}

const normal = 1;

export function longestTokenBytes({ model, tokens, token_type: types = [] }: Vocabulary): number {
  let longest = 1;
  for (const [token, piece] of tokens.entries()) {
    // A character has at most three bytes per UTF-16 unit, so a short piece cannot be longer.
    if (piece.length * 3 <= longest) continue;
    longest = Math.max(longest, bytesOf(piece, model, types[token] ?? normal));
  }
  return longest;
}

function bytesOf(piece: string, model: string, type: number): number {
  // Byte-level BPE writes each byte as a character.
  if (model === "gpt2" && type === normal) return piece.length;
  // SentencePiece writes a space as U+2581.
  return Buffer.byteLength(piece.replaceAll("\u2581", " "));
}
