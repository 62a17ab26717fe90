/** Health and readiness on the wire. */
import { type Static, Type as T } from "@sinclair/typebox";

export const Health = T.Object({ status: T.Literal("alive") });

export type Health = Static<typeof Health>;

export const Readiness = T.Object({
  status: T.Union([T.Literal("ready"), T.Literal("not ready")]),
  reasons: T.Array(T.String(), {
    description:
      "What is not ready. A node that is ready names here what is still coming (its handbook is being stored, and chat is open meanwhile) and what it goes without (the Redis server that it shares with others is away). Empty when all is there.",
  }),
});

export type Readiness = Static<typeof Readiness>;
