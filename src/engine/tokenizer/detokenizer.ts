/** The text that tokens stand for, made in slices between which the event loop turns. */
import type { LlamaModel, Token } from "node-llama-cpp";
import type { LoopYield } from "./loop-yield.ts";
import type { TokenBytes } from "./token-bytes.ts";

/** Tokens of a slice, which takes about a millisecond. */
const sliceLength = 2048;
/** How many tokens before it tell how a token is written. */
const contextLength = 3;

export interface DetokenizeOptions {
  /** Whether special tokens are written out; they have no text otherwise. */
  special: boolean;
  loop: LoopYield;
}

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
  // The tokenizer puts a space where a text begins, and behind what is no text; it is no part of it.
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
