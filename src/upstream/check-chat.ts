/** Whether a server would answer a chat: its list of models may be open to those whose key is wrong. */
import { NodeError } from "../core/errors.ts";
import { openResponse } from "./ask.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

/** Asks for an answer to nothing, which is refused by whoever would have answered something. */
export async function checkChat(target: UpstreamTarget, signal: AbortSignal): Promise<void> {
  const { upstreamModel: model } = target;
  const body = JSON.stringify({ model, messages: [], max_tokens: 1 });
  const question = { path: "/chat/completions", body, field: "messages", isTrial: true } as const;
  const choice = { isRepeatable: true, signal };
  try {
    await target.replicas.attempt(choice, async (lease) => {
      using _ = await openResponse(target, question, lease, signal);
      lease.succeeded();
      lease[Symbol.dispose]();
    });
  } catch (error) {
    if (!(error instanceof NodeError) || !isExpected(error)) throw error;
  }
}

/** Some fail at it instead of refusing. */
const isExpected = ({ kind }: NodeError): boolean =>
  kind === "invalid_request" || kind === "context_length_exceeded" || kind === "upstream_failed";
