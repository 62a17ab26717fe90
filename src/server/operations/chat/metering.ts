/** Counts what an answer uses while it comes, also where it does not come to its end. */
import type { ChatAnswer } from "../../../core/chat/chat-service.ts";

export interface Meter {
  charge: (tokens: number) => void;
  /** Whether the prompt counts although no token came: the caller left after the model had begun with it. */
  owesPrompt: () => boolean;
}

/** The same answer; `charge` hears once how many tokens it used, however it ends. */
export function metered(answer: ChatAnswer, meter: Meter): ChatAnswer {
  return { ...answer, events: meteredEvents(answer, meter) };
}

async function* meteredEvents(
  { events, promptTokens }: ChatAnswer,
  { charge, owesPrompt }: Meter,
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
    if (generated.size > 0 || owesPrompt()) {
      const sum = [...generated.values()].reduce((total, tokens) => total + tokens, 0);
      // Nobody waits for the count of an answer that broke off: the model may be what failed.
      if (prompt !== undefined) charge(sum + prompt);
      else
        void promptTokens().then(
          (tokens) => charge(sum + tokens),
          () => charge(sum),
        );
    }
  }
}
