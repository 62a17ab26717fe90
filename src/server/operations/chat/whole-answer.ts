/** Reads an answer to its end, for callers who want it whole. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";
import type {
  FinishReason,
  GenerationEvent,
  TokenLogprobs,
  TokenUsage,
} from "../../../core/ports/chat-engine.ts";
import { unfinished } from "../../wire/broken-answer.ts";

/** One choice while its events come in. */
interface Draft {
  content: string;
  reasoning: string;
  calls: { id: string; name: string; text: string }[];
  logprobs: TokenLogprobs[] | undefined;
  finish: { reason: FinishReason; usage: TokenUsage } | undefined;
}

/** One of the answers, with its end. */
export interface WholeChoice extends Draft {
  finish: NonNullable<Draft["finish"]>;
}

/** Every choice, in their order. */
export async function readWhole({
  choices,
  events,
}: Pick<ChatAnswer, "choices" | "events">): Promise<WholeChoice[]> {
  const drafts = Array.from(
    { length: choices },
    (): Draft => ({
      content: "",
      reasoning: "",
      calls: [],
      logprobs: undefined,
      finish: undefined,
    }),
  );
  for await (const { index, value: event } of events) {
    const draft = drafts[index];
    if (draft !== undefined) write(draft, event);
  }
  return drafts.map((draft) => {
    if (draft.finish === undefined) throw unfinished();
    return { ...draft, finish: draft.finish };
  });
}

function write(draft: Draft, event: GenerationEvent): void {
  switch (event.type) {
    case "text":
      draft.content += event.text;
      if (event.logprobs !== undefined) {
        draft.logprobs ??= [];
        draft.logprobs.push(...event.logprobs);
      }
      break;
    case "reasoning":
      draft.reasoning += event.text;
      break;
    case "tool-call":
      draft.calls[event.index] = { id: event.id, name: event.name, text: "" };
      break;
    case "tool-arguments": {
      const call = draft.calls[event.index];
      if (call !== undefined) call.text += event.text;
      break;
    }
    case "finish":
      draft.finish = event;
      break;
  }
}
