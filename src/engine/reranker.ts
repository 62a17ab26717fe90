/** A reranking model (cross-encoder) on llama.cpp: scores how well a passage fits a question. */
import type { LlamaModel, LlamaRankingContext, Token } from "node-llama-cpp";
import type { Ranking, RankOptions, Reranker } from "../core/ports/reranker.ts";
import {
  mostQuestionTokens,
  questionTooLong,
  tooMuchToRead,
} from "../core/reranking/rerank-service.ts";
import type { StepWatch } from "./machine/steps.ts";
import { ContextPool } from "./scheduling/context-pool.ts";
import { LoopYield, SlicedTokenizer } from "./tokenizer/sliced-tokenizer.ts";

/** A question with a passage, or with a part of a long one. */
interface Pair {
  question: Token[];
  passage: Token[];
  owner: number;
}

export class LlamaReranker implements Reranker {
  readonly maxTokens: number;
  readonly #first: LlamaRankingContext | undefined;
  readonly #tokenizer: SlicedTokenizer;
  readonly #pool: ContextPool<LlamaRankingContext, Pair, number>;

  constructor(
    model: LlamaModel,
    contexts: readonly LlamaRankingContext[],
    { maxTokens, steps }: { maxTokens: number; steps: StepWatch },
  ) {
    this.maxTokens = maxTokens;
    this.#first = contexts[0];
    this.#tokenizer = new SlicedTokenizer(model);
    this.#pool = new ContextPool({
      contexts,
      steps,
      sizeOf: ({ passage }) => passage.length,
      packing: { mostJobs: 1, mostSize: maxTokens },
      compute: (context, pairs) =>
        Promise.all(
          pairs.map(({ question, passage }) =>
            // A template may repeat the passage, which then does not fit after all.
            context.rank(question, passage, { onOverflow: "maxChunk" }),
          ),
        ),
    });
  }

  async rank(
    question: string,
    passages: readonly string[],
    options: RankOptions,
  ): Promise<Ranking> {
    const loop = new LoopYield(options.signal);
    const asked = await this.#question(question, options, loop);
    const { pairs, tokens } = await this.#pairs(asked, passages, options, loop);
    const { signal, onStart } = options;
    const found = await this.#pool.run(pairs, { signal, onStart: () => onStart?.(tokens) });
    const scores = new Array<number>(passages.length).fill(0);
    for (const [at, { owner }] of pairs.entries()) {
      scores[owner] = Math.max(scores[owner] ?? 0, found[at] ?? 0);
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
    const around = this.#lengthOf(question, []);
    const pairs: Pair[] = [];
    let tokens = 0;
    for (const [owner, passage] of passages.entries()) {
      const most = Math.min(maxPassageTokens, mostOfAll - tokens + 1);
      const beginning = await this.#tokenizer.beginning(passage, { most, loop });
      for (const part of partsOf(beginning, this.maxTokens - 1 - around)) {
        pairs.push({ question, passage: part, owner });
        tokens += this.#lengthOf(question, part);
      }
      if (tokens > mostOfAll) throw tooMuchToRead(owner, mostOfAll);
    }
    return { pairs, tokens };
  }

  #lengthOf(question: Token[], passage: Token[]): number {
    return this.#first?.calculateInputLength(question, passage) ?? 0;
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
