/** What several nodes share, and what is done while it is away. */
import { Type as T } from "@sinclair/typebox";

export const Shared = T.Object(
  {
    redis: T.Optional(
      T.String({
        pattern:
          "^rediss?://([^\\s/@?#]*@)?([^\\s/@?#:[\\]]+|\\[[0-9A-Fa-f:.]+\\])(:\\d{1,5})?(/\\d{0,4})?$",
        "x-expected": "a redis:// or rediss:// address such as 'redis://127.0.0.1:6379'",
        description:
          "Address of a Redis server that keeps the keys and limits of several nodes; `rediss://` with TLS. It may hold credentials: then set it by its variable, not in the file.",
      }),
    ),
    password: T.Optional(
      T.String({
        minLength: 1,
        "x-expected": "a password",
        "x-default": "the address' own",
        description: "Password of the Redis server.",
      }),
    ),
    prefix: T.String({
      pattern: "^[A-Za-z0-9_.-]{1,64}$",
      "x-expected": "1 to 64 letters, digits or any of _ . -",
      default: "paddock",
      description:
        "What the names of all keys in Redis begin with; nodes with one prefix belong together.",
    }),
    when_away: T.Union([T.Literal("serve"), T.Literal("refuse")], {
      default: "serve",
      description:
        "While Redis is away: `serve` with each node's own limits and the keys last known, or `refuse` chats, embeddings and retrieval with 503.",
    }),
    timeout: T.Number({
      minimum: 0.05,
      maximum: 10,
      default: 0.25,
      description:
        "Seconds that Redis may take to answer; one that takes longer is away until it answers again.",
    }),
  },
  { additionalProperties: false, default: {} },
);
