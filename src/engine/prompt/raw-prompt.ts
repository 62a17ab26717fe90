/** Prompts without a chat template: what the caller wrote becomes tokens, and nothing else does. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { NodeError } from "../../core/errors.ts";
import type { CompletionRequest, RawPrompt } from "../../core/ports/chat-engine.ts";
import { LoopYield, SlicedTokenizer, type TokenBudget } from "../tokenizer/sliced-tokenizer.ts";
import { detokenize, type TokenBytes } from "../tokenizer/vocabulary.ts";
import { beginning, type Prompt, type PromptBounds } from "./prompt-template.ts";

export class RawPrompts {
  readonly #model: LlamaModel;
  readonly #tokenBytes: TokenBytes;
  readonly #tokenizer: SlicedTokenizer;

  constructor(model: LlamaModel, tokenBytes: TokenBytes) {
    this.#model = model;
    this.#tokenBytes = tokenBytes;
    this.#tokenizer = new SlicedTokenizer(model);
  }

  /** The prompt; undefined if it is too long to tokenize. */
  async render(
    { prompt, suffix, echo }: CompletionRequest,
    { most = Number.POSITIVE_INFINITY, signal }: PromptBounds = {},
  ): Promise<Prompt | undefined> {
    const loop = new LoopYield(signal);
    const budget = { most, loop };
    const written = await this.#tokens(prompt, budget);
    if (written === undefined) return undefined;
    const tokens =
      suffix === undefined
        ? this.#whole(prompt, written)
        : await this.#around(written, suffix, budget);
    if (tokens === undefined) return undefined;
    const echoed = echo === true ? await this.#text(prompt, written, loop) : undefined;
    return { ...rawPrompt, tokens, echoed };
  }

  async #tokens(prompt: RawPrompt, budget: TokenBudget): Promise<Token[] | undefined> {
    if (typeof prompt === "string") return await this.#tokenizer.tokens(prompt, budget, true);
    if (prompt.length > budget.most) return undefined;
    return this.#tokenBytes.tokensOf(prompt, (why) => refused(`The prompt ${why}`));
  }

  /** A text begins as the model's file says; an empty one is the beginning of a document. */
  #whole(prompt: RawPrompt, tokens: Token[]): Token[] {
    const { bos, eos } = this.#model.tokens;
    if (tokens.length === 0) {
      const first = bos ?? eos;
      if (first !== null) return [first];
      throw refused("The prompt is empty, and this model needs some text.");
    }
    return typeof prompt === "string" ? beginning(this.#model, tokens) : tokens;
  }

  /** Fill in the middle: prefix, suffix, and the answer between them. */
  async #around(
    written: readonly Token[],
    suffix: string,
    budget: TokenBudget,
  ): Promise<Token[] | undefined> {
    const { infill } = this.#model.tokens;
    if (infill.prefix === null || infill.suffix === null || infill.middle === null) {
      throw new NodeError(
        "invalid_request",
        "'suffix' cannot be honoured: this model was not trained to fill in the middle. Ask a model whose vocabulary has the tokens for it, such as a coder's, or leave 'suffix' out.",
        { param: "suffix" },
      );
    }
    const after = await this.#tokenizer.tokens(suffix, budget, true);
    if (after === undefined) return undefined;
    const { prefix, suffix: between, middle } = infill;
    return beginning(this.#model, [prefix, ...written, between, ...after, middle]);
  }

  async #text(prompt: RawPrompt, written: readonly Token[], loop: LoopYield): Promise<string> {
    if (typeof prompt === "string") return prompt;
    return await detokenize(this.#model, this.#tokenBytes, written, { special: false, loop });
  }
}

const refused = (message: string): NodeError =>
  new NodeError("invalid_request", message, { subject: { part: "prompt" } });

/** Text as it is: no marker means anything. */
const rawPrompt = {
  isRaw: true,
  markers: { thoughts: [], calls: [], noise: [], ends: [] },
  startsInThought: undefined,
  calls: {
    syntax: { prefix: "", paramsPrefix: () => "", suffix: () => "", between: "" },
    opening: [],
    parallel: false,
  },
} satisfies Partial<Prompt>;
