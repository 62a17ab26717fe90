/** GET /metrics */
import type { MetricsPage } from "../../../core/ports/telemetry.ts";
import { defineOperationWithoutBody } from "../../define-operation.ts";
import { tags } from "../../operation.ts";
import { Metrics } from "./schema.ts";

export const metrics = defineOperationWithoutBody({
  method: "GET",
  path: "/metrics",
  name: "metrics",
  operationId: "getMetrics",
  summary: "The node's numbers, for Prometheus",
  description:
    "Requests, tokens, times, queues and memory in Prometheus' text format. Wants a key where keys are configured, unless the configuration says `[metrics] open = true`.",
  tag: tags.node,
  key: "required",
  whileDraining: true,
  answer: {
    name: "Metrics",
    schema: Metrics,
    description: "The numbers.",
    contentType: "text/plain",
  },
  errors: { 401: "The key is missing or wrong, where the node wants one." },
  handler: async (_request, _context, { metrics: page }: { metrics: MetricsPage }) => ({
    text: await page.text(),
    contentType: page.contentType,
  }),
});
