/** The spans of a request, named by OpenTelemetry's semantic conventions for HTTP and generative AI. */
import type { AnswerRecord, FinishedWork, RequestRecord, Span } from "../core/ports/telemetry.ts";

type Attributes = Readonly<Record<string, string | number>>;

/** A span, with the spans inside it. */
export interface Step extends Span {
  name: "queue" | "prompt" | "generation" | "retrieval" | "embedding" | "rerank";
  attributes: Attributes;
  inner: readonly Step[];
}

/** One of few names: what a caller made up is no part of it. */
export function requestName(record: RequestRecord): string {
  const { operation, genAiOperation: name, method, work } = record;
  if (name === undefined) return operation === "other" ? method : operation;
  // What reranks inside a search is not what was asked for.
  const model = work.findLast((done) => "model" in done && done.type !== "reranked");
  return model !== undefined && "model" in model ? `${name} ${model.model}` : name;
}

export function requestAttributes(record: RequestRecord): Attributes {
  const { tokens, status, brokenStatus = status } = record;
  return present({
    "http.request.method": record.method,
    "url.path": record.path,
    "http.response.status_code": status,
    "error.type": brokenStatus >= 400 ? String(brokenStatus) : undefined,
    "gen_ai.provider.name": "paddock",
    "gen_ai.operation.name": record.genAiOperation,
    "gen_ai.request.model": record.model,
    "gen_ai.usage.input_tokens": tokens?.prompt,
    "gen_ai.usage.cache_read.input_tokens": tokens?.cached,
    "gen_ai.usage.output_tokens": tokens?.completion,
    "paddock.request.id": record.id,
    "paddock.key": record.caller,
    "paddock.outcome": record.outcome,
  });
}

export function stepsOf({ work }: RequestRecord): Step[] {
  const searches = work.filter((done) => done.type === "retrieved");
  const isInside = ({ from, to }: Span, outer: Span): boolean =>
    from >= outer.from && to <= outer.to;
  const steps = work.flatMap((done) => {
    if (done.type === "embedded") return embedding(done);
    return done.type === "reranked" ? reranking(done) : [];
  });
  return [
    ...searches.map((search) => ({
      ...retrieval(search),
      inner: steps.filter((step) => isInside(step, search)),
    })),
    ...steps.filter((step) => !searches.some((search) => isInside(step, search))),
    ...work.filter((done) => done.type === "answered").flatMap(answer),
  ];
}

const retrieval = ({
  from,
  to,
  passages,
}: Extract<FinishedWork, { type: "retrieved" }>): Omit<Step, "inner"> => ({
  name: "retrieval",
  from,
  to,
  attributes:
    passages === undefined ? { "error.type": "retrieval" } : { "paddock.passages": passages },
});

const embedding = (done: Extract<FinishedWork, { type: "embedded" }>): Step => ({
  name: "embedding",
  from: done.from,
  to: done.to,
  attributes: {
    "gen_ai.operation.name": "embeddings",
    "gen_ai.request.model": done.model,
    "gen_ai.usage.input_tokens": done.tokens,
    "paddock.inputs": done.inputs,
  },
  inner: [],
});

/** The conventions have no name for this operation. */
const reranking = (done: Extract<FinishedWork, { type: "reranked" }>): Step => ({
  name: "rerank",
  from: done.from,
  to: done.to,
  attributes: {
    "gen_ai.request.model": done.model,
    "gen_ai.usage.input_tokens": done.tokens,
    "paddock.passages": done.passages,
  },
  inner: [],
});

/** The phases of an answer, as far as it came: in the queue, prefill, decoding. */
function answer({
  model,
  calledAt,
  startedAt,
  firstTokenAt,
  endedAt,
  generatedTokens,
  usage,
}: AnswerRecord): Step[] {
  const step = (
    name: Step["name"],
    from: number | undefined,
    to: number | undefined,
    more: Readonly<Record<string, number | undefined>> = {},
  ): Step[] =>
    from === undefined
      ? []
      : [
          {
            name,
            from,
            to: to ?? endedAt,
            attributes: present({ "gen_ai.request.model": model, ...more }),
            inner: [],
          },
        ];
  return [
    ...step("queue", calledAt, startedAt),
    ...step("prompt", startedAt, firstTokenAt, {
      "gen_ai.usage.input_tokens": usage?.promptTokens,
      "gen_ai.usage.cache_read.input_tokens": usage?.cachedTokens,
    }),
    ...step("generation", firstTokenAt, endedAt, { "gen_ai.usage.output_tokens": generatedTokens }),
  ];
}

function present(fields: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
