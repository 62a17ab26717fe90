/** Reranking between the wire and the domain. */
import { given } from "../../../core/given.ts";
import type {
  RerankRequest as DomainRequest,
  RankedDocument,
} from "../../../core/reranking/rerank-service.ts";
import type { RerankRequest, RerankResult } from "./schema.ts";

export function toRerankRequest(body: RerankRequest): DomainRequest {
  const { model, query, documents, top_n: topN, max_tokens_per_doc: most } = body;
  return {
    model,
    query,
    documents: documents.map(toText),
    // 0 means all, as vLLM has it.
    ...given({ topN: topN || undefined, maxDocumentTokens: most ?? undefined }),
  };
}

const toText = (document: RerankRequest["documents"][number]): string =>
  typeof document === "string" ? document : document.text;

interface Ranked {
  id: string;
  model: string;
  ranked: readonly RankedDocument[];
  tokens: number;
  /** The texts to repeat; absent: none. */
  documents?: readonly string[];
}

/** Characters that are written before others get their turn: some milliseconds. */
const sliceLength = 1_000_000;

/** A `RerankResult` as JSON; megabytes of documents take a while to write in one go. */
export async function toRerankResultJson(ranking: Ranked): Promise<string> {
  const { id, model, ranked, tokens, documents } = ranking;
  const items: string[] = [];
  let written = 0;
  for (const { index, score: relevance_score } of ranked) {
    const text = documents?.[index];
    const document = text === undefined ? {} : { document: { text } };
    items.push(JSON.stringify({ index, relevance_score, ...document } satisfies Item));
    written += text?.length ?? 0;
    if (written < sliceLength) continue;
    written = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const head = JSON.stringify({ id, object: "list", model } satisfies Head);
  const tail = JSON.stringify({
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    meta: { tokens: { input_tokens: tokens } },
  } satisfies Tail);
  return `${head.slice(0, -1)},"results":[${items.join(",")}],${tail.slice(1)}`;
}

type Item = RerankResult["results"][number];
type Tail = Pick<RerankResult, "usage" | "meta">;
type Head = Omit<RerankResult, "results" | keyof Tail>;
