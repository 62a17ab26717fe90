/** How an answer grows with each chunk of its stream. */
import type { ChatCompletionChunk } from "../../client/wire.ts";
import type { AnswerTurn, Measures } from "./conversation.ts";

export type Timing = Pick<Measures, "firstTokenMs" | "restMs">;

/** Whether a chunk brings some of the answer, or of the thoughts before it. */
export const hasText = ({ choices }: ChatCompletionChunk): boolean =>
  choices.some(({ delta }) => Boolean(delta.content) || Boolean(delta.reasoning_content));

/** The same turn where the chunk adds nothing, as the first does, which brings the role alone. */
export function withChunk(
  turn: AnswerTurn,
  { choices, usage, retrieval }: ChatCompletionChunk,
  timing: Timing,
): AnswerTurn {
  let grown = turn;
  for (const { delta, finish_reason: reason } of choices) {
    const { content, reasoning_content: thought } = delta;
    if (thought) grown = { ...grown, thoughts: (grown.thoughts ?? "") + thought };
    if (content) grown = { ...grown, content: grown.content + content };
    if (reason !== null) grown = { ...grown, cut: reason === "length" };
  }
  if (usage) {
    const { prompt_tokens: promptTokens, completion_tokens: tokens } = usage;
    grown = { ...grown, measures: { promptTokens, tokens, ...timing } };
  }
  return retrieval === undefined ? grown : { ...grown, retrieval };
}
