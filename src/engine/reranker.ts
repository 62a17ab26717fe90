/** A reranking model (cross-encoder) on llama.cpp: scores how well a passage fits a question. */
import type { LlamaModel, Token } from "node-llama-cpp";
import { given } from "../core/given.ts";
import type { Ranking, RankOptions, Reranker } from "../core/ports/reranker.ts";
import {
  mostQuestionTokens,
  questionTooLong,
  sigmoid,
  tooMuchToRead,
} from "../core/reranking/rerank-service.ts";
import type { RankingInput } from "./native/text-context.ts";
import { type TextContexts, textPool } from "./scheduling/text-pool.ts";
import { LoopYield, SlicedTokenizer } from "./tokenizer/sliced-tokenizer.ts";

interface RerankerOptions extends TextContexts {
  maxTokens: number;
  inputOf: RankingInput;
}

/** Their graph computes a probability; of others it is a logit. */
const scoringProbabilities = ["qwen3", "qwen3vl"];

/** What is read for a question with a passage, or with a part of a long one. */
interface Pair {
  tokens: readonly Token[];
  owner: number;
}

export class LlamaReranker implements Reranker {
  readonly maxTokens: number;
  readonly #inputOf: RankingInput;
  /** Tokens of a passage, for measuring what is read around one. */
  readonly #sample: readonly Token[];
  readonly #scoreOf: (value: number) => number;
  readonly #tokenizer: SlicedTokenizer;
  readonly #pool: ReturnType<typeof textPool>;

  constructor(model: LlamaModel, options: RerankerOptions) {
    this.maxTokens = options.maxTokens;
    this.#inputOf = options.inputOf;
    this.#sample = model.tokenize("a").slice(0, 1);
    const { architecture } = model.fileInfo.metadata.general;
    this.#scoreOf = scoringProbabilities.includes(architecture) ? (value) => value : sigmoid;
    this.#tokenizer = new SlicedTokenizer(model);
    this.#pool = textPool(options);
  }

  async rank(
    question: string,
    passages: readonly string[],
    options: RankOptions,
  ): Promise<Ranking> {
    const { signal, caller, onStart } = options;
    const loop = new LoopYield(signal);
    const asked = await this.#question(question, options, loop);
    const { pairs, tokens } = await this.#pairs(asked, passages, options, loop);
    const found = await this.#pool.run(
      pairs.map((pair) => pair.tokens),
      { signal, ...given({ caller }), onStart: () => onStart?.(tokens) },
    );
    const scores = new Array<number>(passages.length).fill(0);
    for (const [at, { owner }] of pairs.entries()) {
      const score = this.#scoreOf(found[at]?.[0] ?? Number.NaN);
      scores[owner] = Math.max(scores[owner] ?? 0, Number.isNaN(score) ? 0 : score);
    }
    return { scores, tokens };
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #question(
    question: string,
    { cutsQuestion = false }: RankOptions,
    loop: LoopYield,
  ): Promise<Token[]> {
    const half = mostQuestionTokens(this.maxTokens);
    const tokens = await this.#tokenizer.beginning(question, { most: half + 1, loop });
    if (tokens.length > half && !cutsQuestion) throw questionTooLong(half);
    return tokens.slice(0, half);
  }

  /** Tokenizes no more of a passage than may be read. */
  async #pairs(
    question: Token[],
    passages: readonly string[],
    { maxPassageTokens = Number.POSITIVE_INFINITY, ...options }: RankOptions,
    loop: LoopYield,
  ): Promise<{ pairs: Pair[]; tokens: number }> {
    const { maxTokens: mostOfAll = Number.POSITIVE_INFINITY } = options;
    const most = this.#mostOfPassage(question);
    const pairs: Pair[] = [];
    let tokens = 0;
    for (const [owner, passage] of passages.entries()) {
      const wanted = Math.min(maxPassageTokens, mostOfAll - tokens + 1);
      const beginning = await this.#tokenizer.beginning(passage, { most: wanted, loop });
      for (const part of partsOf(beginning, most)) {
        const input = this.#inputOf(question, part);
        if (input.length > 0) pairs.push({ tokens: input, owner });
        tokens += input.length;
      }
      if (tokens > mostOfAll) throw tooMuchToRead(owner, mostOfAll);
    }
    return { pairs, tokens };
  }

  /** Most tokens of a passage that fit beside a question; a template may repeat the passage. */
  #mostOfPassage(question: Token[]): number {
    const one = this.#inputOf(question, this.#sample).length;
    const two = this.#inputOf(question, [...this.#sample, ...this.#sample]).length;
    const each = Math.max(1, two - one);
    const most = Math.floor((this.maxTokens - 1 - (one - each)) / each);
    if (most < 1) throw questionTooLong(question.length + most - 1);
    return most;
  }
}

/** How much of a part repeats the one before it, so that a sentence across a boundary is whole in one of them. */
const overlap = 0.5;

/** Parts of at most so many tokens, the last as long as the others; one that is empty where there are no tokens. */
export function partsOf<Token>(tokens: readonly Token[], most: number): Token[][] {
  const size = Math.max(1, most);
  if (tokens.length <= size) return [[...tokens]];
  const step = Math.max(1, Math.floor(size * (1 - overlap)));
  const parts: Token[][] = [];
  for (let start = 0; ; start += step) {
    const from = Math.min(start, tokens.length - size);
    parts.push(tokens.slice(from, from + size));
    if (from + size >= tokens.length) return parts;
  }
}
