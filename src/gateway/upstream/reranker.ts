/** An upstream reranking model: at `/rerank` of TEI, and at `/v1/rerank` of all other servers. */
import { countAt, listAt, numberAt, objectAt } from "../../client/json-fields.ts";
import { NodeError } from "../../core/errors.ts";
import type { Ranking, RankOptions, Reranker } from "../../core/ports/reranker.ts";
import { mostQuestionTokens, questionTooLong } from "../../core/reranking/rerank-service.ts";
import { askJson, garbage, inBatches, type Upstream } from "./ask.ts";
import type { ServerFacts } from "./server-facts.ts";
import { type TextCounter, TokenEstimate, textCounter } from "./tokenizer.ts";

/** Passages per request if the server reports no limit. */
const defaultBatch = 64;
const atOnce = 4;
/** Special tokens around a question and a passage. */
const markers = 4;

export interface UpstreamRerankerOptions {
  facts: ServerFacts;
  /** For a question and a passage together. */
  maxTokens: number;
}

export class UpstreamReranker implements Reranker {
  readonly maxTokens: number;
  readonly #upstream: Upstream;
  readonly #facts: ServerFacts;
  readonly #count: TextCounter | undefined;
  readonly #estimate = new TokenEstimate();
  /** Whether scores are logits. Servers do not say, but probabilities are always from 0 to 1. */
  #areLogits = false;
  #countsTokens = true;

  constructor(upstream: Upstream, { facts, maxTokens }: UpstreamRerankerOptions) {
    this.maxTokens = maxTokens;
    this.#upstream = upstream;
    this.#facts = facts;
    this.#count = textCounter(upstream, facts.kind);
  }

  /** Whether the server reports token counts. Valid after the first call. */
  get countsTokens(): boolean {
    return this.#countsTokens;
  }

  async rank(
    question: string,
    passages: readonly string[],
    options: RankOptions,
  ): Promise<Ranking> {
    const { signal } = options;
    signal.throwIfAborted();
    const { maxBatch: most = defaultBatch } = this.#facts;
    const asked = await this.#fitQuestion(question, options.cutsQuestion ?? false, signal);
    const shown = await this.#fitPassages(passages, options.maxPassageTokens, signal);
    options.onStart?.();
    let tokens = 0;
    const scores = await inBatches(shown, { most, atOnce }, async (batch) => {
      const judged = await this.#ask(asked, batch, signal);
      tokens += judged.tokens;
      return judged.scores;
    });
    if (scores.some((score) => score < 0 || score > 1)) this.#areLogits = true;
    return { scores: this.#areLogits ? scores.map(sigmoid) : scores, tokens };
  }

  /** llama-server fails if a text exceeds its context; others truncate it. */
  async #fitQuestion(question: string, cuts: boolean, signal: AbortSignal): Promise<string> {
    const half = mostQuestionTokens(this.maxTokens) - markers;
    // No text has more tokens than bytes.
    if (this.#count === undefined || Buffer.byteLength(question) <= half) return question;
    if (cuts && this.#facts.kind !== "llama-server") return question;
    if (cuts) return (await cutToTokens([question], half, this.#count, signal))[0] ?? question;
    const [tokens = 0] = await this.#count([question], signal);
    if (tokens > half) throw questionTooLong(half);
    return question;
  }

  async #fitPassages(
    passages: readonly string[],
    wanted: number | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { kind } = this.#facts;
    const half =
      kind === "llama-server"
        ? mostQuestionTokens(this.maxTokens) - markers
        : Number.POSITIVE_INFINITY;
    const most = Math.min(half, wanted ?? half);
    if (most === Number.POSITIVE_INFINITY) return passages;
    if (this.#count !== undefined) return await cutToTokens(passages, most, this.#count, signal);
    if (wanted === undefined) return passages;
    throw new NodeError(
      "invalid_request",
      `'max_tokens_per_doc' cannot be honoured: ${this.#upstream.named} runs on an upstream server, which counts no tokens. Leave it out.`,
      { param: "max_tokens_per_doc" },
    );
  }

  async #ask(question: string, passages: readonly string[], signal: AbortSignal): Promise<Ranking> {
    const { upstreamModel: model } = this.#upstream;
    const { kind } = this.#facts;
    const isTei = kind === "tei";
    const body = isTei
      ? { query: question, texts: passages, truncate: true }
      : {
          ...(model === "" ? {} : { model }),
          query: question,
          documents: passages,
          // Otherwise one passage that is too long fails all of them.
          ...(kind === "vllm" ? { truncate_prompt_tokens: -1 } : {}),
        };
    const answer = await askJson(
      this.#upstream,
      { path: "/rerank", body: [JSON.stringify(body)], isBesideVersion: isTei, field: "documents" },
      signal,
    );
    const results = Array.isArray(answer) ? answer : listAt(answer, "results");
    const counted = countAt(objectAt(answer, "usage"), "total_tokens");
    this.#countsTokens = counted !== undefined;
    const most = TokenEstimate.mostOf(passages.flatMap((passage) => [question, passage]));
    const tokens = Math.min(counted ?? this.#estimateOf(question, passages), most);
    return { scores: this.#read(results, passages.length), tokens };
  }

  #estimateOf(question: string, passages: readonly string[]): number {
    const each = this.#estimate.ofText(question) + markers;
    return passages.reduce((sum, passage) => sum + each + this.#estimate.ofText(passage), 0);
  }

  #read(results: readonly unknown[], count: number): number[] {
    const scores = new Array<number | undefined>(count);
    for (const result of results) {
      const index = countAt(result, "index");
      const score = numberAt(result, "relevance_score") ?? numberAt(result, "score");
      if (index !== undefined && index < count) scores[index] = score;
    }
    const found = scores.filter((score) => score !== undefined);
    if (found.length === count) return found;
    throw garbage(this.#upstream, "with scores that are none");
  }
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Safety margin when cutting, since tokens vary in length. */
const share = 0.9;
/** Attempts to cut a text; then it is used as it is. */
const mostRounds = 6;

async function cutToTokens(
  texts: readonly string[],
  most: number,
  count: TextCounter,
  signal: AbortSignal,
): Promise<string[]> {
  const cut = [...texts];
  // No text has more tokens than bytes, besides the model's markers.
  let long = [...cut.keys()].filter((at) => Buffer.byteLength(cut[at] ?? "") > most);
  for (let round = 0; round < mostRounds && long.length > 0; round++) {
    const counts = await count(
      long.map((at) => cut[at] ?? ""),
      signal,
    );
    long = long.filter((at, index) => {
      const tokens = counts[index] ?? 0;
      const text = cut[at] ?? "";
      if (tokens <= most) return false;
      cut[at] = text.slice(0, Math.floor((text.length * most * share) / tokens));
      return true;
    });
  }
  return cut;
}
