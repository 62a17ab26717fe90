/** Health, readiness and numbers on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";

const Health = T.Object({ status: T.Literal("alive") });

export const Readiness = T.Object({
  status: T.Union([T.Literal("ready"), T.Literal("not ready")]),
  reasons: T.Array(T.String(), { description: "What is not ready; empty when all is." }),
});

export type Readiness = Static<typeof Readiness>;

const Metrics = T.String({ description: "Prometheus' text format, version 0.0.4." });

export const operationSchemas = { Health, Readiness, Metrics };
