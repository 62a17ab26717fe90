/** POST /v1/embeddings */
import { Elysia } from "elysia";
import type { EmbeddingService } from "../../../core/embedding/embedding-service.ts";
import type { Log } from "../../../core/log.ts";
import { announceIgnored, unknownKeys } from "../../middleware/ignored-fields.ts";
import { type BodyLimits, bodyReader } from "../../middleware/json-body.ts";
import type { PromptLog } from "../../middleware/prompt-log.ts";
import type { Entrance } from "../../middleware/rate-limit.ts";
import { requestSignal } from "../../middleware/timeout.ts";
import { modelErrors, operation, tags } from "../../operation.ts";
import { exchangeOf } from "../../request-context.ts";
import { EmbeddingRequest } from "./schema.ts";
import { toEmbeddingListJson, toEmbeddingRequest, totalTokens } from "./wire.ts";

export interface EmbeddingRoutesServices {
  embeddings: EmbeddingService;
  entrance: Entrance;
  log: Log;
  promptLog: PromptLog;
  limits: BodyLimits & { maxInputs: number; requestTimeoutMs: number };
  /** Aborts when the node stops, with an error for whoever is being answered. */
  stopping: AbortSignal;
}

export function embeddingRoutes(services: EmbeddingRoutesServices) {
  const { embeddings, entrance, log, promptLog, limits, stopping } = services;
  const { requestTimeoutMs } = limits;
  const readBody = bodyReader(EmbeddingRequest, limits, [
    {
      param: "input",
      most: limits.maxInputs,
      setting: "limits.max_inputs",
      // A list of numbers is one text.
      isFor: (first) => typeof first !== "number",
    },
  ]);
  return new Elysia({ prefix: "/v1" }).post(
    "/embeddings",
    async ({ request, set }) => {
      using visit = entrance.admit(request, set.headers, "embeddings");
      const body = await readBody(request);
      const exchange = exchangeOf(request);
      exchange.model = body.model;
      promptLog.asked(set.headers, { model: body.model, input: body.input });
      announceIgnored(
        unknownKeys(body, Object.keys(EmbeddingRequest.properties)),
        set.headers,
        log,
      );
      using ending = new DisposableStack();
      const { signal, clear } = requestSignal(request, { requestTimeoutMs, stopping });
      ending.defer(clear);
      const { report } = exchange;
      const asked = toEmbeddingRequest(body);
      const result = await embeddings.embed(asked, { signal, report });
      visit.charge(totalTokens(result.embeddings));
      const json = await toEmbeddingListJson(body, result);
      return new Response(json, { headers: { "content-type": "application/json" } });
    },
    {
      parse: "none",
      detail: operation({
        operationId: "createEmbeddings",
        summary: "Embed texts",
        description: "Computes a vector of unit length for each text, in their order.",
        tag: tags.embeddings,
        secured: true,
        body: {
          schema: "EmbeddingRequest",
          example: { model: "all-MiniLM-L6-v2", input: ["Paris is the capital of France."] },
        },
        answer: {
          schema: "EmbeddingList",
          description: "The vectors.",
          example: {
            object: "list",
            data: [{ index: 0, object: "embedding", embedding: [0.0962, 0.0213, -0.0341] }],
            model: "all-MiniLM-L6-v2",
            usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 },
          },
        },
        errors: { ...modelErrors, 504: "The answer took longer than the node allows." },
      }),
    },
  );
}
