/** A model's tokenizer as callers ask it: bounded by the context, and off the loop. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type {
  PieceForm,
  TokenizedText,
  Tokenizer,
  TokenizerInput,
} from "../../core/ports/tokenizer.ts";
import { countedTimes, LoopYield, SlicedTokenizer } from "./sliced-tokenizer.ts";
import { detokenize, TokenBytes } from "./vocabulary.ts";

interface ModelTokenizerOptions {
  contextSize: number;
  /** Tokens with those that the model wants around a text. */
  withMarkers: (tokens: Token[]) => readonly Token[];
  /** A conversation's tokens; undefined if they are too many. Absent: the model has no chats. */
  render?: (
    input: Extract<TokenizerInput, { messages: unknown }>,
    signal: AbortSignal,
  ) => Promise<readonly Token[] | undefined>;
}

export class ModelTokenizer implements Tokenizer {
  readonly model: LlamaModel;
  readonly sliced: SlicedTokenizer;
  readonly bytes: TokenBytes;
  readonly #options: ModelTokenizerOptions;

  constructor(model: LlamaModel, options: ModelTokenizerOptions) {
    this.model = model;
    this.sliced = new SlicedTokenizer(model);
    this.bytes = new TokenBytes(model);
    this.#options = options;
  }

  async tokenize(
    input: TokenizerInput,
    { signal }: { signal: AbortSignal },
  ): Promise<TokenizedText | undefined> {
    const loop = new LoopYield(signal);
    const tokens = await this.#tokens(input, { signal, loop });
    if (tokens === undefined) return undefined;
    const ids = Uint32Array.from(tokens);
    if (input.pieces === undefined) return { tokens: ids };
    return { tokens: ids, pieces: await this.#pieces(tokens, input.pieces, loop) };
  }

  async detokenize(ids: readonly number[], { signal }: { signal: AbortSignal }): Promise<string> {
    const most = this.#options.contextSize * countedTimes;
    if (ids.length > most) {
      throw new NodeError(
        "invalid_request",
        `'tokens' is a list of ${ids.length}; for this model it may have ${most}, which is ${countedTimes} times its context. Send fewer.`,
        { param: "tokens" },
      );
    }
    const tokens = this.bytes.tokensOf(
      ids,
      (why) => new NodeError("invalid_request", `'tokens' ${why}`, { param: "tokens" }),
    );
    const loop = new LoopYield(signal);
    return await detokenize(this.model, this.bytes, tokens, { special: true, loop });
  }

  async #tokens(
    input: TokenizerInput,
    { signal, loop }: { signal: AbortSignal; loop: LoopYield },
  ): Promise<readonly Token[] | undefined> {
    const { contextSize, render, withMarkers } = this.#options;
    if ("messages" in input) {
      if (render !== undefined) return await render(input, signal);
      throw new NodeError(
        "invalid_request",
        "'messages' are for chat models; this one embeds texts. Send 'prompt'.",
        { subject: { part: "messages" } },
      );
    }
    const { text, addSpecial, parseSpecial } = input;
    const budget = { most: contextSize, loop };
    const tokens = await this.sliced.tokens(text, budget, parseSpecial);
    return tokens === undefined || !addSpecial ? tokens : withMarkers(tokens);
  }

  async #pieces(
    tokens: readonly Token[],
    form: PieceForm,
    loop: LoopYield,
  ): Promise<NonNullable<TokenizedText["pieces"]>> {
    const pieces: (string | number[])[] = [];
    for (const token of tokens) {
      pieces.push(form === "vocabulary" ? this.bytes.piece(token) : this.#text(token));
      await loop.yieldIfDue();
    }
    return pieces;
  }

  #text(token: Token): string | number[] {
    const bytes = this.bytes.of(token);
    try {
      return strict.decode(bytes);
    } catch {
      return [...bytes];
    }
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
