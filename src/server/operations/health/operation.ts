/** GET /health and GET /ready */
import { defineOperationWithoutBody } from "../../define-operation.ts";
import { tags } from "../../operation.ts";
import { tellReadiness } from "./handler.ts";
import { Health, Readiness } from "./schema.ts";

const alive: Health = { status: "alive" };

export const health = defineOperationWithoutBody({
  method: "GET",
  path: "/health",
  name: "health",
  operationId: "getHealth",
  summary: "Whether the process answers",
  tag: tags.node,
  isProbe: true,
  whileDraining: true,
  answer: { name: "Health", schema: Health, description: "It does.", example: alive },
  errors: {},
  handler: () => ({ json: alive }),
});

const readiness = { name: "Readiness", schema: Readiness };

export const ready = defineOperationWithoutBody({
  method: "GET",
  path: "/ready",
  name: "ready",
  operationId: "getReadiness",
  summary: "Whether the node can take a request",
  tag: tags.node,
  key: "optional",
  isProbe: true,
  whileDraining: true,
  answer: {
    ...readiness,
    description:
      "Every model and the collection are ready, and no queue is full; passages of the handbook may still be coming, or what nodes share be away, which `reasons` says.",
    example: { status: "ready", reasons: [] },
  },
  errors: {
    503: {
      ...readiness,
      description: "Something is not ready or a queue is full; `reasons` says what.",
    },
  },
  handler: tellReadiness,
});
