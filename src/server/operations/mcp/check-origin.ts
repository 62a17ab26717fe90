/**
 * The Origin header, as the Model Context Protocol wants it checked: a page of another origin does not
 * ask, also where its browser would let it.
 */
import { NodeError } from "../../../core/errors.ts";
import { quoted } from "../../../core/quoted.ts";

export function checkOrigin(headers: Headers, allowed: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin === null || allowed.includes("*") || allowed.includes(origin)) return;
  const host = headers.get("host");
  if (host !== null && URL.parse(origin)?.host === host.toLowerCase()) return;
  throw new NodeError(
    "forbidden",
    `Pages of ${quoted(origin)} may not ask this node. If they are to, add the origin to [http] cors_origins (PADDOCK_CORS_ORIGINS).`,
  );
}
