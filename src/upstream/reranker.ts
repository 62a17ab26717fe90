/** A reranking model that runs elsewhere: vLLM, SGLang, llama-server and others at `/v1/rerank`, TEI at `/rerank`. */
import { NodeError } from "../core/errors.ts";
import type { Reranker } from "../core/ports/reranker.ts";
import { askJson, garbage } from "./ask.ts";
import { inBatches } from "./batches.ts";
import { countAt, listAt, numberAt } from "./json-fields.ts";
import type { ServerFacts } from "./server-facts.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

/** Passages of a request, where the server does not say how many it takes. */
const defaultBatch = 64;
const atOnce = 4;

export interface UpstreamRerankerOptions {
  /** What the server is; asked until it says so. */
  facts: (signal: AbortSignal) => Promise<ServerFacts>;
}

export class UpstreamReranker implements Reranker {
  readonly #target: UpstreamTarget;
  readonly #facts: UpstreamRerankerOptions["facts"];
  readonly #closing = new AbortController();
  /** Whether its scores are logits: nobody says so, but probabilities never leave 0 to 1. */
  #areLogits = false;

  constructor(target: UpstreamTarget, { facts }: UpstreamRerankerOptions) {
    this.#target = target;
    this.#facts = facts;
  }

  problem(): string | undefined {
    return this.#target.replicas.problem();
  }

  async rank(
    question: string,
    passages: readonly string[],
    options: { signal: AbortSignal },
  ): Promise<number[]> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    signal.throwIfAborted();
    if (passages.length === 0) return [];
    const facts = await this.#facts(signal);
    const bounds = { most: facts.maxBatch ?? defaultBatch, atOnce };
    const scores = await inBatches(passages, bounds, (batch) =>
      this.#ask(facts, question, batch, signal),
    );
    if (scores.some((score) => score < 0 || score > 1)) this.#areLogits = true;
    return this.#areLogits ? scores.map(sigmoid) : scores;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new NodeError("unavailable", "The model is being unloaded."));
  }

  async #ask(
    { kind, models }: ServerFacts,
    question: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<number[]> {
    const { upstreamModel } = this.#target;
    const isTei = kind === "tei";
    // A server that serves one model is asked for that one, where nobody names another.
    const model = upstreamModel === "" ? models?.[0]?.id : upstreamModel;
    const body = isTei
      ? { query: question, texts: passages, truncate: true }
      : {
          model,
          query: question,
          documents: passages,
          // Else a passage that is too long fails all of them.
          ...(kind === "vllm" ? { truncate_prompt_tokens: -1 } : {}),
        };
    const answer = await askJson(
      this.#target,
      { path: "/rerank", body: JSON.stringify(body), isBesideVersion: isTei },
      { signal },
    );
    return this.#read(Array.isArray(answer) ? answer : listAt(answer, "results"), passages.length);
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
    throw garbage(this.#target, "with scores that are none");
  }
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));
