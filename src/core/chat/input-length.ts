/** How much a chat model is given at once, whatever runs it. */
import { NodeError } from "../errors.ts";

type PromptField = "messages" | "prompt";

/** For what leaves no room for an answer; `more`: it was not counted beyond the context. */
export function promptTooLong(
  tokens: number | "more",
  contextSize: number,
  param: PromptField = "messages",
): NodeError {
  const found = tokens === "more" ? `more than ${contextSize}` : tokens;
  return refusal(
    `${found} tokens; with room for an answer, this model's context of ${contextSize} tokens holds at most ${contextSize - 1}`,
    param,
  );
}

/** For what is so long that nobody counted it. */
export const longerThanContext = (contextSize: number, param: PromptField): NodeError =>
  refusal(`more tokens than this model's context of ${contextSize} holds`, param);

const refusal = (found: string, param: PromptField): NodeError =>
  new NodeError(
    "context_length_exceeded",
    `The ${param} ${param === "messages" ? "have" : "has"} ${found}. Shorten the ${param}.`,
    { param },
  );
