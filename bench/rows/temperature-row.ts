/** What it costs to sample from the whole vocabulary: temperature alone against a request with top_k 40. */

import { type Answered, type AnswerOptions, type ChatServer, chat } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import { measured, ratioOf } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import type { ChatBench } from "./chat-bench.ts";

/** Pairs a run: the difference is smaller than the noise of one. */
const pairs = 4;

export async function temperatureRow(
  { report, runs, name, servers: { node } }: ChatBench,
  { tokens }: { tokens: number },
): Promise<void> {
  const alone = { temperature: 1 };
  const limited = { temperature: 1, top_k: 40 };
  const figures = await takeTurns({
    contenders: { node: alone, peer: limited },
    runs: runs * pairs,
    prepare: () => stories(1)[0] ?? "",
    measure: async (sampling, prompt) => {
      const answer = await longAnswer(node, prompt, { maxTokens: tokens, sampling });
      // Without the prompt, since a sampled answer may end before all its tokens.
      return ((answer.tokens - 1) / (answer.totalMs - answer.firstMs)) * 1000;
    },
  });
  const [free, topK] = [figures.node, figures.peer ?? []];
  report.add({
    work: `${name}, ${tokens} tokens, temperature alone against top_k 40`,
    unit: "tok/s",
    node: measured(free),
    ratio: ratioOf(free, topK),
    target: "≥ 0.97 of top_k 40",
    floor: measured(topK),
  });
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
