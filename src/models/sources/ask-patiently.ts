/** A question without a file behind it: short, and asked again when the connection fails. */
import { setTimeout as sleep } from "node:timers/promises";
import { NodeError } from "../../core/errors.ts";
import { type Answer, ask, Interruption, type Question } from "./ask.ts";
import type { Hub } from "./hub.ts";
import { refuse, type Subject } from "./refusal.ts";

export interface Patience {
  hub: Hub;
  signal: AbortSignal;
  /** How long to wait before the first new try; default: half a second. */
  pauseMs?: number;
}

/** How long one answer may take. */
export const patienceMs = 30_000;
const mostTries = 3;

export async function askPatiently(
  question: Omit<Question, "hub" | "signal" | "timeoutMs">,
  subject: Subject,
  { hub, signal, pauseMs = 500 }: Patience,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await ask({ ...question, hub, signal, timeoutMs: patienceMs });
      // A redirect away from the hub is an answer where it was not to be followed.
      if (answer.response.status < 300 || answer.response.status >= 400) {
        await refuse(answer, subject);
      }
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Interruption)) throw error;
      if (tries >= mostTries) throw unreachable(subject, error);
      await sleep(pauseMs * 2 ** tries, undefined, { signal });
    }
  }
}

const unreachable = ({ source }: Subject, cause: Interruption): NodeError =>
  new NodeError(
    "unavailable",
    `The model '${source}' cannot be fetched: ${cause.message}. Check the network (HTTPS_PROXY names a proxy), or name a file that is on this machine.`,
    { cause },
  );

/** No answer that is read whole is longer. */
const mostBytes = 1_000_000;

/** Nothing where it is longer, or ends too early. */
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
