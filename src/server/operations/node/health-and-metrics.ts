/** GET /health, GET /ready and GET /metrics, for monitoring and load balancers. */
import { Type as T } from "@sinclair/typebox";
import type { MetricsPage } from "../../../core/ports/telemetry.ts";
import type { ReadinessReport } from "../../../core/readiness.ts";
import { redactPaths } from "../../middleware/errors.ts";
import { type Answer, defineOperation, namedSchema, tags } from "../../operation.ts";
import { Health, Readiness } from "./schema.ts";

const alive: Health = { status: "alive" };

export const health = defineOperation({
  method: "GET",
  path: "/health",
  name: "health",
  operationId: "getHealth",
  summary: "Whether the process answers",
  tag: tags.node,
  isProbe: true,
  whileDraining: true,
  answer: { ...namedSchema({ Health }), description: "It does.", example: alive },
  errors: {},
  handler: () => ({ json: alive }),
});

interface ReadinessNeeds {
  /** Reports problems that prevent the node from serving, and what is still being prepared. */
  checkReadiness: (who: { isStranger: boolean }) => Promise<ReadinessReport>;
}

const readiness = namedSchema({ Readiness });

export const ready = defineOperation({
  method: "GET",
  path: "/ready",
  name: "ready",
  operationId: "getReadiness",
  summary: "Whether the node is ready for requests",
  tag: tags.node,
  key: "optional",
  isProbe: true,
  whileDraining: true,
  answer: {
    ...readiness,
    description:
      "Models and collection are ready, and no queue is full. `reasons` says if the handbook is still being stored, or Redis is away.",
    example: { status: "ready", reasons: [] },
  },
  errors: {
    503: {
      ...readiness,
      description: "Something is not ready or a queue is full; `reasons` says what.",
    },
  },
  handler: async (
    _request,
    { isStranger },
    { checkReadiness }: ReadinessNeeds,
  ): Promise<Answer> => {
    const { problems, notes, coming } = await checkReadiness({ isStranger });
    const reasons = [...problems, ...notes, ...coming].map(redactPaths);
    if (problems.length === 0) return { json: { status: "ready", reasons } satisfies Readiness };
    return { status: 503, json: { status: "not ready", reasons } satisfies Readiness };
  },
});

export const metrics = defineOperation({
  method: "GET",
  path: "/metrics",
  name: "metrics",
  operationId: "getMetrics",
  summary: "Metrics for Prometheus",
  description:
    "Requests, tokens, times, queues and memory. A node with keys requires one, unless `[metrics] open = true`.",
  tag: tags.node,
  key: "required",
  whileDraining: true,
  answer: {
    name: "Metrics",
    schema: T.String({ description: "Prometheus' text format, version 0.0.4." }),
    description: "The metrics.",
    contentType: "text/plain",
  },
  errors: { 401: "The key is missing or wrong, on a node with keys." },
  handler: async (_request, _context, { metrics: page }: { metrics: MetricsPage }) => ({
    text: await page.text(),
    contentType: page.contentType,
  }),
});
