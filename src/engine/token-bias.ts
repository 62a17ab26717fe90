/** `logit_bias` for llama.cpp's sampler. */
import { type LlamaModel, type Token, TokenBias } from "node-llama-cpp";
import { NodeError } from "../core/errors.ts";

export class BiasMaker {
  readonly #model: LlamaModel;
  #tokens: readonly Token[] | undefined;

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  make(biases: ReadonlyMap<number, number>): TokenBias {
    const bias = TokenBias.for(this.#model);
    for (const [id, logit] of biases) {
      const token = this.#token(id);
      bias.set(token, { logit });
      if (this.#model.isEogToken(token)) setEnd(bias, token, logit);
    }
    return bias;
  }

  #token(id: number): Token {
    this.#tokens ??= [...this.#model.iterateAllTokens()];
    const token = this.#tokens[id];
    if (token !== undefined) return token;
    throw new NodeError(
      "invalid_request",
      `'logit_bias' names the token ${id}; this model has the tokens 0 to ${this.#tokens.length - 1}.`,
      { param: "logit_bias" },
    );
  }
}

/** The library leaves tokens that end an answer alone; the convention lets a caller bias them too. */
function setEnd(bias: TokenBias, token: Token, logit: number): void {
  const biases: unknown = Reflect.get(bias, "_biases");
  if (biases instanceof Map) biases.set(token, logit);
}
