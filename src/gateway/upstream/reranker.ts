/** An upstream reranking model: at `/rerank` of TEI, and at `/v1/rerank` of all other servers. */
import { countAt, listAt, numberAt, objectAt } from "../../client/json-fields.ts";
import { NodeError } from "../../core/errors.ts";
import type { Ranking, Reranker } from "../../core/ports/reranker.ts";
import {
  mostQuestionTokens,
  questionTooLong,
  sigmoid,
} from "../../core/reranking/rerank-service.ts";
import { askJson, garbage, inBatches, type Upstream } from "./ask.ts";
import type { ServerFacts } from "./server-facts.ts";
import { type TextCounter, TokenEstimate, textCounter } from "./tokenizer.ts";

/** Passages per request if the server reports no limit. */
const defaultBatch = 64;
const atOnce = 4;
const markers = 4;

interface UpstreamReranker extends Reranker {
  /** Whether the server reports token counts. Valid after the first call. */
  countsTokens(): boolean;
}

/** `maxTokens`: for a question and a passage together. */
export function upstreamReranker(
  upstream: Upstream,
  { kind, maxBatch: most = defaultBatch }: ServerFacts,
  maxTokens: number,
): UpstreamReranker {
  const count = textCounter(upstream, kind);
  const half = mostQuestionTokens(maxTokens) - markers;
  const estimate = new TokenEstimate();
  /** Whether scores are logits. Other servers do not say; probabilities and cosines are never beyond 1. */
  let areLogits = kind === "llama-server";
  /** Scores in a row that are no clear logits. */
  let withinOne = 0;
  let countsTokens = true;

  /** llama-server fails if a text exceeds its context; others truncate it. */
  const fitQuestion = async (question: string, cuts: boolean, signal: AbortSignal) => {
    // No text has more tokens than bytes.
    if (count === undefined || Buffer.byteLength(question) <= half) return question;
    if (cuts && kind !== "llama-server") return question;
    if (cuts) return (await cutToTokens([question], half, count, signal))[0] ?? question;
    const [tokens = 0] = await count([question], signal);
    if (tokens > half) throw questionTooLong(half);
    return question;
  };

  const fitPassages = async (
    passages: readonly string[],
    wanted: number | undefined,
    signal: AbortSignal,
  ) => {
    const own = kind === "llama-server" ? half : Number.POSITIVE_INFINITY;
    const most = Math.min(own, wanted ?? own);
    if (most === Number.POSITIVE_INFINITY) return passages;
    if (count !== undefined) return await cutToTokens(passages, most, count, signal);
    if (wanted === undefined) return passages;
    throw new NodeError(
      "invalid_request",
      `'max_tokens_per_doc' cannot be honoured: ${upstream.named} runs on an upstream server, which counts no tokens. Leave it out.`,
      { param: "max_tokens_per_doc" },
    );
  };

  const estimated = (question: string, passages: readonly string[]): number =>
    passages.reduce(
      (sum, passage) => sum + estimate.ofText(passage),
      passages.length * (estimate.ofText(question) + markers),
    );

  const ask = async (
    question: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<Ranking> => {
    const isTei = kind === "tei";
    const body = isTei
      ? { query: question, texts: passages, truncate: true }
      : {
          model: upstream.upstreamModel || undefined,
          query: question,
          documents: passages,
          // Otherwise one passage that is too long fails all of them.
          truncate_prompt_tokens: kind === "vllm" ? -1 : undefined,
        };
    const path = "/rerank";
    const sent = [JSON.stringify(body)];
    const asked = { path, body: sent, isBesideVersion: isTei, field: "documents" } as const;
    return await askJson(upstream, asked, signal, (answer) => {
      const counted = countAt(objectAt(answer, "usage"), "total_tokens");
      const scores = readScores(answer, passages.length);
      if (scores === undefined) throw garbage(upstream, "with scores that are none");
      countsTokens = counted !== undefined;
      const pairs = passages.flatMap((passage) => [question, passage]);
      const tokens = Math.min(
        counted || estimated(question, passages),
        TokenEstimate.mostOf(pairs),
      );
      return { scores, tokens };
    });
  };

  return {
    maxTokens,
    countsTokens: () => countsTokens,
    async rank(question, passages, { signal, cutsQuestion = false, maxPassageTokens, onStart }) {
      signal.throwIfAborted();
      const asked = await fitQuestion(question, cutsQuestion, signal);
      const shown = await fitPassages(passages, maxPassageTokens, signal);
      onStart?.(estimated(asked, shown));
      let tokens = 0;
      const scores = await inBatches(shown, { most, atOnce }, async (batch) => {
        const judged = await ask(asked, batch, signal);
        tokens += judged.tokens;
        return judged.scores;
      });
      const areBeyond = scores.some((score) => Math.abs(score) > mostCosine);
      withinOne = areBeyond ? 0 : withinOne + scores.length;
      // One replica may have had another model for a while.
      if (areBeyond || withinOne > mostWithinOne) areLogits = areBeyond || kind === "llama-server";
      return { scores: scores.map(areLogits ? sigmoid : fromZeroToOne), tokens };
    },
  };
}

/** As it may be rounded. */
const mostCosine = 1.01;

/** So many logits in a row within -1 and 1 are hardly logits. */
const mostWithinOne = 1000;

const fromZeroToOne = (score: number): number => Math.min(1, Math.max(0, score));

/** Undefined if a passage has none. */
function readScores(answer: unknown, count: number): number[] | undefined {
  const scores = new Array<number | undefined>(count);
  for (const result of Array.isArray(answer) ? answer : listAt(answer, "results")) {
    const index = countAt(result, "index");
    const score = numberAt(result, "relevance_score") ?? numberAt(result, "score");
    if (index !== undefined && index < count) scores[index] = score;
  }
  const found = scores.filter((score) => score !== undefined);
  return found.length === count ? found : undefined;
}

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
