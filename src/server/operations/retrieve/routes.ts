/** POST /v1/retrieve */
import { Elysia } from "elysia";
import type { Log } from "../../../core/log.ts";
import type { RetrievalService } from "../../../core/retrieval/retrieval-service.ts";
import { announceIgnored, unknownKeys } from "../../middleware/ignored-fields.ts";
import { type BodyLimits, bodyReader } from "../../middleware/json-body.ts";
import type { PromptLog } from "../../middleware/prompt-log.ts";
import type { Entrance } from "../../middleware/rate-limit.ts";
import { requestSignal } from "../../middleware/timeout.ts";
import { modelErrors, operation, tags } from "../../operation.ts";
import { exchangeOf } from "../../request-context.ts";
import { RetrieveRequest } from "./schema.ts";
import { toMethodText, toRetrievalRequest, toRetrieveResult } from "./wire.ts";

/** Says how the passages were found: a collection may not be able to do what the node is set to. */
const methodHeader = "x-paddock-retrieval";

export interface RetrieveRoutesServices {
  retrieval: RetrievalService;
  entrance: Entrance;
  log: Log;
  promptLog: PromptLog;
  limits: BodyLimits & { maxMessages: number; requestTimeoutMs: number };
  /** Aborts when the node stops, with an error for whoever is being answered. */
  stopping: AbortSignal;
}

export function retrieveRoutes(services: RetrieveRoutesServices) {
  const { retrieval, entrance, log, promptLog, limits, stopping } = services;
  const { requestTimeoutMs } = limits;
  const readBody = bodyReader(RetrieveRequest, limits, [
    { param: "messages", most: limits.maxMessages, setting: "limits.max_messages" },
  ]);
  return new Elysia({ prefix: "/v1" }).post(
    "/retrieve",
    async ({ request, set }) => {
      using visit = entrance.admit(request, set.headers, "retrieve");
      const body = await readBody(request);
      const exchange = exchangeOf(request);
      exchange.model = body.model;
      promptLog.asked(set.headers, { model: body.model, messages: body.messages });
      announceIgnored(unknownKeys(body, Object.keys(RetrieveRequest.properties)), set.headers, log);
      using ending = new DisposableStack();
      const { signal, clear } = requestSignal(request, { requestTimeoutMs, stopping });
      ending.defer(clear);
      const { report } = exchange;
      const result = await retrieval.retrieve(toRetrievalRequest(body), { signal, report });
      visit.charge(result.tokens);
      promptLog.answered(set.headers, { texts: result.points.map(({ source }) => source) });
      set.headers[methodHeader] = toMethodText(result.method);
      return toRetrieveResult(result, body);
    },
    {
      parse: "none",
      detail: operation({
        operationId: "retrieve",
        summary: "Find passages",
        description:
          "Embeds the last user message and returns the passages of the node's collection that match it. A request may narrow the node's limit and score threshold for itself, never widen them; the answer names those applied. The header `x-paddock-retrieval` says how they were found: `dense` or `hybrid`, and whether they were `reranked`.",
        tag: tags.retrieval,
        secured: true,
        body: {
          schema: "RetrieveRequest",
          example: {
            model: "all-MiniLM-L6-v2",
            messages: [{ role: "user", content: "How do I add an API key?" }],
          },
        },
        answer: {
          schema: "RetrieveResult",
          description: "The passages, best first.",
          example: {
            points: [{ source: "Keys\n\nSet PADDOCK_API_KEYS to one or more keys.", score: 0.71 }],
            limit: 5,
            score_threshold: 0.4,
          },
        },
        errors: { ...modelErrors, 504: "The answer took longer than the node allows." },
      }),
    },
  );
}
