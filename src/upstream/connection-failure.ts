/** Why a server elsewhere could not be asked, or broke off, in words that name no address. */
import { hasCode, reasonOf } from "../core/errors.ts";

export class ConnectionFailure extends Error {
  override readonly name = "ConnectionFailure";
  /** Whether it took too long, rather than failed. */
  readonly isSilence: boolean;

  constructor(reason: string, { isSilence = false, cause }: FailureDetails = {}) {
    super(reason, cause === undefined ? undefined : { cause });
    this.isSilence = isSilence;
  }
}

interface FailureDetails {
  isSilence?: boolean;
  cause?: unknown;
}

/** By the codes of the system and of TLS. */
const reasons: readonly (readonly [code: string, reason: string])[] = [
  ["ECONNREFUSED", "the connection is refused"],
  ["ENOTFOUND", "its host name is not known"],
  ["EAI_AGAIN", "its host name cannot be looked up now"],
  ["EHOSTUNREACH", "there is no way to its host"],
  ["ENETUNREACH", "there is no way to its network"],
  ["ETIMEDOUT", "its host does not answer"],
  ["ECONNRESET", "the connection broke off"],
  ["EPIPE", "the connection broke off"],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is signed by itself"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "its certificate is signed by nobody known"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "its certificate is signed by nobody known"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "its certificate is signed by nobody known"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another host"],
];

export function toConnectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof ConnectionFailure) return error;
  const known = reasons.find(([code]) => hasCode(error, code));
  const isReset = /socket hang up|aborted/i.test(reasonOf(error));
  const reason = known?.[1] ?? (isReset ? "the connection broke off" : "it does not speak HTTP");
  return new ConnectionFailure(reason, { cause: error });
}

export const silence = (ms: number): ConnectionFailure =>
  new ConnectionFailure(`no answer for ${ms / 1000} s`, { isSilence: true });
