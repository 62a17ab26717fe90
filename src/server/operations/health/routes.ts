/** GET /health, GET /ready and GET /metrics, for whoever watches the node. */
import { Elysia } from "elysia";
import type { MetricsPage } from "../../../core/ports/telemetry.ts";
import { type Access, isKnown } from "../../middleware/authentication.ts";
import { operation, tags } from "../../operation.ts";
import { redactPaths } from "../../redact-paths.ts";
import type { Readiness } from "./schema.ts";

export interface OperationRoutesServices {
  /** What keeps the node from taking a request now. */
  checkReadiness: (who: { isStranger: boolean }) => Promise<string[]>;
  /** Whether the node was asked to stop, and takes no new requests. */
  isDraining: () => boolean;
  metrics: MetricsPage;
  /** Whether those without a key may see the numbers. */
  metricsOpen: boolean;
  access: Access;
}

export function operationRoutes({
  checkReadiness,
  metrics,
  metricsOpen,
  access,
}: OperationRoutesServices) {
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
      async ({ request, set }): Promise<Readiness> => {
        const reasons = await checkReadiness({ isStranger: !isKnown(access, request) });
        if (reasons.length === 0) return { status: "ready", reasons };
        set.status = 503;
        return { status: "not ready", reasons: reasons.map(redactPaths) };
      },
      {
        detail: {
          ...readyOperation,
          responses: {
            ...readyOperation.responses,
            503: {
              description: "Something is not ready or a queue is full; `reasons` says what.",
              content: {
                "application/json": { schema: { $ref: "#/components/schemas/Readiness" } },
              },
            },
          },
        },
      },
    )
    .get(
      "/metrics",
      async ({ request }) => {
        if (!metricsOpen) access.check(request);
        const { contentType } = metrics;
        return new Response(await metrics.text(), { headers: { "content-type": contentType } });
      },
      { detail: metricsOperation },
    );
}

const metricsOperation = {
  operationId: "getMetrics",
  summary: "The node's numbers, for Prometheus",
  description:
    "Requests, tokens, times, queues and memory in Prometheus' text format. Wants a key where keys are configured, unless the configuration says `[metrics] open = true`.",
  tags: [tags.node],
  security: [{ bearer: [] }, {}],
  responses: {
    200: {
      description: "The numbers.",
      content: { "text/plain": { schema: { $ref: "#/components/schemas/Metrics" } } },
    },
    401: {
      description: "The key is missing or wrong, where the node wants one.",
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    },
  },
};

const readyOperation = operation({
  operationId: "getReadiness",
  summary: "Whether the node can take a request",
  tag: tags.node,
  answer: {
    schema: "Readiness",
    description: "Every model and the collection are ready, and no queue is full.",
    example: { status: "ready", reasons: [] },
  },
  errors: {},
});
