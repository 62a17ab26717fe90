/** Short requests, such as for metadata, retried with exponential backoff when the connection fails. */
import { setTimeout as sleep } from "node:timers/promises";
import { NodeError } from "../../core/errors.ts";
import {
  type RequestOptions,
  RetryableError,
  type SourceResponse,
  sendRequest,
} from "./http-request.ts";
import type { Hub } from "./hub.ts";
import { cannotBeFetched, refuse, type Subject } from "./refusal.ts";

export interface RetryOptions {
  hub: Hub;
  signal: AbortSignal;
  /** The first pause of the backoff; default: half a second. */
  pauseMs?: number;
}

/** How long a response may take. */
export const responseTimeoutMs = 30_000;
const mostTries = 3;

export async function requestWithRetry(
  question: Omit<RequestOptions, "hub" | "signal" | "timeoutMs">,
  subject: Subject,
  { hub, signal, pauseMs = 500 }: RetryOptions,
): Promise<SourceResponse> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await sendRequest({ ...question, hub, signal, timeoutMs: responseTimeoutMs });
      // With `staysAtHub`, a redirect away from the hub is the response that was asked for.
      if (answer.response.status < 300 || answer.response.status >= 400) {
        await refuse(answer, subject);
      }
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RetryableError)) throw error;
      if (tries >= mostTries) throw unreachable(subject, error);
      await sleep(pauseMs * 2 ** tries, undefined, { signal });
    }
  }
}

const unreachable = (subject: Subject, cause: RetryableError): NodeError =>
  new NodeError(
    "unavailable",
    `${cannotBeFetched(subject)} ${cause.message}. Check the network (HTTPS_PROXY names a proxy), or name a file that is on this machine.`,
    { cause },
  );

/** A longer body is not read. */
const mostBytes = 1_000_000;

/** Undefined where the body is too long, or its connection is lost. */
export async function readText({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body ?? []) {
      length += chunk.length;
      if (length > mostBytes) return undefined;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
