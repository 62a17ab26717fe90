/** The question of a conversation, as much of it as the embedding model takes. */
import type { ChatMessage } from "./ports/chat-engine.ts";
import type { EmbeddingEngine } from "./ports/embedding-engine.ts";

export interface Question {
  text: string;
  /** Whether a part of the last user message had to be left out. */
  shortened: boolean;
}

/** More than any token stands for: a text that is longer does not fit, and need not be counted to know it. */
const charactersPerToken = 256;

/** The last `window` user messages, older ones left out first, then the beginning of the last. */
export async function questionOf(
  messages: readonly ChatMessage[],
  window: number,
  engine: EmbeddingEngine,
  { prefix, signal }: { prefix: string; signal: AbortSignal },
): Promise<Question> {
  const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const mostCharacters = engine.maxTokens * charactersPerToken;
  const fits = async (text: string): Promise<boolean> => {
    if (text.length > mostCharacters) return false;
    const [tokens = 0] = await engine.countTokens([prefix + text], { signal });
    return tokens <= engine.maxTokens;
  };
  for (let count = Math.min(window, said.length); count > 0; count--) {
    const text = said.slice(-count).join("\n");
    if (await fits(text)) return { text, shortened: false };
  }
  // What is asked tends to stand at the end of a long message.
  const words = (said.at(-1) ?? "").slice(-mostCharacters).split(/(?<=\s)/);
  let [from, to] = [0, words.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (await fits(words.slice(middle).join(""))) to = middle;
    else from = middle + 1;
  }
  return { text: words.slice(from).join(""), shortened: true };
}
