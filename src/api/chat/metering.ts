/** Counts what an answer uses while it comes, also where it does not come to its end. */
import type { ChatAnswer } from "../../core/chat.ts";

/** The same answer; `charge` hears once how many tokens it used, however it ends. */
export function metered(answer: ChatAnswer, charge: (tokens: number) => void): ChatAnswer {
  return { ...answer, events: meteredEvents(answer, charge) };
}

async function* meteredEvents(
  { events, promptTokens }: ChatAnswer,
  charge: (tokens: number) => void,
): ChatAnswer["events"] {
  const generated = new Map<number, number>();
  let prompt: number | undefined;
  try {
    for await (const event of events) {
      const { index, value } = event;
      if (value.type === "finish") prompt = value.usage.promptTokens;
      // An event that is not the last holds a token at least.
      const tokens =
        value.type === "finish" ? value.usage.completionTokens : (generated.get(index) ?? 0) + 1;
      generated.set(index, tokens);
      yield event;
    }
  } finally {
    // Before the first event nothing was computed that is worth a count.
    if (generated.size > 0) {
      const sum = [...generated.values()].reduce((total, tokens) => total + tokens, 0);
      charge(sum + (prompt ?? (await promptTokens())));
    }
  }
}
