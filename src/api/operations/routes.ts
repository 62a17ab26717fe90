/** GET /health and GET /ready, for whoever watches the node. */
import { Elysia } from "elysia";
import type { ModelRegistry } from "../../core/model.ts";
import type { RetrievalService } from "../../core/retrieval.ts";
import { operation, tags } from "../../http/operation.ts";
import { withoutPlaces } from "../../http/shown.ts";
import type { Readiness } from "./schema.ts";

export interface OperationRoutesServices {
  models: ModelRegistry;
  retrieval: RetrievalService;
  /** Whether the node was asked to stop, and takes no new requests. */
  isDraining: () => boolean;
}

export function operationRoutes({ models, retrieval, isDraining }: OperationRoutesServices) {
  return new Elysia()
    .get("/health", () => ({ status: "alive" as const }), {
      detail: operation({
        operationId: "getHealth",
        summary: "Whether the process answers",
        tag: tags.node,
        answer: { schema: "Health", description: "It does.", example: { status: "alive" } },
        errors: {},
      }),
    })
    .get(
      "/ready",
      async ({ set }): Promise<Readiness> => {
        const reasons = models.problems();
        const problem = await retrieval.problem();
        if (problem !== undefined) reasons.push(problem);
        if (isDraining()) reasons.push("The node is stopping.");
        if (reasons.length === 0) return { status: "ready", reasons };
        set.status = 503;
        return { status: "not ready", reasons: reasons.map(withoutPlaces) };
      },
      {
        detail: {
          ...readyOperation,
          responses: {
            ...readyOperation.responses,
            503: {
              description: "Not everything is ready; `reasons` says what.",
              content: {
                "application/json": { schema: { $ref: "#/components/schemas/Readiness" } },
              },
            },
          },
        },
      },
    );
}

const readyOperation = operation({
  operationId: "getReadiness",
  summary: "Whether models and collection are ready",
  tag: tags.node,
  answer: {
    schema: "Readiness",
    description: "Every model and the collection are.",
    example: { status: "ready", reasons: [] },
  },
  errors: {},
});
