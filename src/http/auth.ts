/** Who may come in: bearer keys, compared in constant time. */
import { createHash, timingSafeEqual } from "node:crypto";
import { NodeError } from "../core/errors.ts";

export interface Access {
  /**
   * Refuses a request that carries none of the keys; without keys everyone may come in. Says who
   * the caller is, as a name that is no secret.
   */
  check(request: Request): string;
}

export function keyAccess(keys: readonly string[]): Access {
  const known = keys.map(digest);
  return {
    check(request) {
      if (known.length === 0) return "anyone";
      const found = bearerKey(request);
      if (found === undefined) {
        throw new NodeError(
          "unauthenticated",
          "An API key is needed: send the header 'Authorization: Bearer <key>'.",
        );
      }
      const offered = digest(found);
      // Every key is compared, so that the time taken tells nothing of which one came close.
      const [match] = known.flatMap((key, at) => (timingSafeEqual(key, offered) ? [at] : []));
      if (match === undefined) {
        throw new NodeError(
          "unauthenticated",
          "The API key is not one of this node's. Check the key in your 'Authorization' header.",
        );
      }
      return `key ${match + 1}`;
    },
  };
}

function bearerKey(request: Request): string | undefined {
  const header = request.headers.get("authorization") ?? "";
  return /^Bearer\s+(\S+)\s*$/i.exec(header)?.[1];
}

/** Digests have one length, which a comparison in constant time needs. */
const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
