/** A request with nothing but a temperature, which samples from the whole vocabulary where the server has no other default. */

import { type Answered, type AnswerOptions, type ChatServer, chat } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import { takeTurns } from "../measuring/turns.ts";
import type { ChatBench } from "./chat-bench.ts";

export async function temperatureRow(
  { report, runs, name, servers }: ChatBench,
  { tokens }: { tokens: number },
): Promise<void> {
  const figures = await takeTurns({
    contenders: servers,
    runs,
    prepare: () => stories(1)[0] ?? "",
    measure: async (server, prompt) => {
      const sampling = { temperature: 0.8 };
      const answer = await longAnswer(server, prompt, { maxTokens: tokens, sampling });
      // Without the prompt, since a sampled answer may end before all its tokens.
      return ((answer.tokens - 1) / (answer.totalMs - answer.firstMs)) * 1000;
    },
  });
  const work = `${name}, ${tokens} tokens, temperature alone`;
  report.compare({ work, unit: "tok/s", target: "≥ 0.98" }, figures);
}

/** A sampled answer can end after a word, which measures nothing: then another is asked for. */
async function longAnswer(
  server: ChatServer,
  prompt: string,
  options: AnswerOptions,
): Promise<Answered> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const answer = await chat(server, prompt, options);
    if (answer.tokens >= options.maxTokens / 2) return answer;
  }
  throw new Error(`Five answers in a row ended before half of ${options.maxTokens} tokens`);
}
