/** Why a Redis server cannot be used, in words; never with credentials, which no error of it holds. */
import { hasCode, reasonOf } from "../../core/errors.ts";

/** Thrown where no answer came in time. */
export class NoAnswer extends Error {
  constructor(ms: number) {
    super(`it did not answer within ${ms} ms`);
  }
}

/** What the first word of an error means, where the rest would puzzle. */
const meanings: readonly (readonly [word: RegExp, meaning: string])[] = [
  [
    /^(WRONGPASS|NOAUTH)\b|AUTH.* without any password/,
    "it refuses the credentials; check PADDOCK_SHARED_REDIS and PADDOCK_SHARED_PASSWORD",
  ],
  [/^READONLY\b/, "it is a read-only replica; name the primary"],
  [/^OOM\b/, "it is out of memory; raise its maxmemory"],
  [/^LOADING\b/, "it is loading its data"],
  [/^MASTERDOWN\b/, "it is a replica whose primary is away"],
  [/^MISCONF\b/, "it cannot write its data to its disk, and so takes no changes"],
  [/^(BUSY|TRYAGAIN|CLUSTERDOWN)\b/, "it is busy or its cluster is down"],
  [/^MOVED\b/, "it is one of a cluster; name a server that is not, or a proxy of the cluster"],
  [/unknown command .?HELLO/i, "it is older than Redis 6"],
];

const longest = 200;

export function reasonFor(error: unknown): string {
  const said = reasonOf(error);
  const [, meaning] = meanings.find(([word]) => word.test(said)) ?? [];
  if (meaning !== undefined) return meaning;
  if (error instanceof NoAnswer) return said;
  if (hasCode(error, "ERR_REDIS_CONNECTION_CLOSED")) return "there is no connection to it";
  if (hasCode(error, "ERR_REDIS_CONNECTION_TIMEOUT")) {
    return "it takes connections and does not speak; rediss:// is for a server with TLS, redis:// for one without";
  }
  if (hasCode(error, "ERR_REDIS_INVALID_RESPONSE_TYPE")) return "what answers there is no Redis";
  return said.slice(0, longest);
}

/** Whether a script has to be sent whole: the server was restarted, or forgot its scripts. */
export const isUnknownScript = (error: unknown): boolean => reasonOf(error).startsWith("NOSCRIPT");
