/** Several prompts at once: when the first token of the median one comes, or of the slowest. */

import { chat } from "../measuring/client.ts";
import { measured } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import { type ChatBench, promptsOf } from "./chat-bench.ts";

const answerTokens = 4;

export interface LongPrompts {
  clients: number;
  promptTokens: number;
  /** Whose first token counts; default: the median one's. */
  of?: "median" | "slowest";
  target: string;
}

export async function longPromptsRow(
  bench: ChatBench,
  { clients, promptTokens, of = "median", target }: LongPrompts,
): Promise<void> {
  let seen = 0;
  const figures = await takeTurns({
    contenders: bench.servers,
    runs: bench.runs,
    isTime: true,
    prepare: () => promptsOf(bench, clients, promptTokens),
    measure: async (server, prompts) => {
      const answers = await Promise.all(
        prompts.map((prompt) => chat(server, prompt, { maxTokens: answerTokens })),
      );
      seen = measured(answers.map((answer) => answer.promptTokens)).median;
      const times = answers.map(({ firstMs }) => firstMs);
      return of === "median" ? measured(times).median : Math.max(...times);
    },
  });
  const work = `${bench.name}, ${clients} prompts of ${seen} tokens at once, ${of} first token`;
  bench.report.compare({ work, unit: "ms", target: `≤ ${target}` }, figures);
}
