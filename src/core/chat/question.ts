/** The question of a conversation, as much of it as the embedding model takes. */
import type { ChatMessage } from "../ports/chat-engine.ts";
import type { EmbeddingEngine } from "../ports/embedding-engine.ts";

export interface Question {
  text: string;
  /** Whether a part of the last user message had to be left out. */
  shortened: boolean;
  /** How many user messages it is made of. */
  messages: number;
}

/** More than the tokens of any text have on average: a text that is longer cannot fit, and is not tokenised to find out. */
const charactersPerToken = 64;

/** The last `window` user messages, older ones left out first, then the beginning of the last. */
export async function questionOf(
  messages: readonly ChatMessage[],
  window: number,
  engine: EmbeddingEngine,
  { prefix, signal }: { prefix: string; signal: AbortSignal },
): Promise<Question> {
  const longest = engine.maxTokens * charactersPerToken;
  const fits = async (parts: readonly string[], separator: string): Promise<boolean> => {
    if (parts.reduce((sum, { length }) => sum + length, 0) > longest) return false;
    const [tokens = 0] = await engine.countTokens([prefix + parts.join(separator)], { signal });
    return tokens <= engine.maxTokens;
  };
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const asked = said.slice(-window);
  const from = await firstFitting(asked.length, (at) => fits(asked.slice(at), "\n"));
  if (from < asked.length) {
    const taken = asked.slice(from);
    return { text: taken.join("\n"), shortened: false, messages: taken.length };
  }
  // What is asked tends to stand at the end of a long message.
  const words = (said.at(-1) ?? "").slice(-longest).split(/(?<=\s)/);
  const start = await firstFitting(words.length, (at) => fits(words.slice(at), ""));
  return { text: words.slice(start).join(""), shortened: true, messages: 1 };
}

/** The lowest number from which on all fit, by halves; `end` where none does. */
async function firstFitting(end: number, fits: (at: number) => Promise<boolean>): Promise<number> {
  let [from, to] = [0, end];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (await fits(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
