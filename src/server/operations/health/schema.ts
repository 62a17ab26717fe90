/** Health and readiness on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";

export const Health = T.Object({ status: T.Literal("alive") });

export type Health = Static<typeof Health>;

export const Readiness = T.Object({
  status: T.Union([T.Literal("ready"), T.Literal("not ready")]),
  reasons: T.Array(T.String(), { description: "What is not ready; empty when all is." }),
});

export type Readiness = Static<typeof Readiness>;
