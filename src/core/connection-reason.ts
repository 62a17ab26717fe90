/** Why a server cannot be reached, in words for a person: those of the system and of Bun are not. */
import { hasCode, reasonOf } from "./errors.ts";

export const brokenOff = "the connection broke off";
const noAnswer = "its host does not answer";
const unknownSigner = "its certificate is signed by nobody known";

/** By error codes of the system, of TLS and of Bun. */
const reasons: readonly (readonly [code: string, reason: string])[] = [
  ["ECONNREFUSED", "the connection is refused"],
  ["ENOTFOUND", "its host name is not known"],
  ["EAI_AGAIN", "its host name cannot be looked up now"],
  ["EHOSTUNREACH", "there is no way to its host"],
  ["ENETUNREACH", "there is no way to its network"],
  ["ETIMEDOUT", noAnswer],
  ["ECONNRESET", brokenOff],
  ["EPIPE", brokenOff],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is signed by itself"],
  ["SELF_SIGNED_CERT_IN_CHAIN", unknownSigner],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", unknownSigner],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", unknownSigner],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another host"],
  ["UnsupportedProxyProtocol", "the proxy's address does not begin with http:// or https://"],
];

/** Undefined for an error that is none of a connection. */
export function connectionReason(error: unknown): string | undefined {
  const known = reasons.find(([code]) => hasCode(error, code))?.[1];
  if (known !== undefined) return known;
  if (error instanceof Error && error.name === "TimeoutError") return noAnswer;
  return /socket hang up|aborted/i.test(reasonOf(error)) ? brokenOff : undefined;
}
