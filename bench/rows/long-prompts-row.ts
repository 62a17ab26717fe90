/** Several long prompts at once: when the first token of the median one comes. */

import { chat } from "../measuring/client.ts";
import { measured } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import { type ChatBench, promptsOf } from "./chat-bench.ts";

const answerTokens = 4;

export async function longPromptsRow(
  bench: ChatBench,
  { clients, promptTokens, target }: { clients: number; promptTokens: number; target: string },
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
      return measured(answers.map(({ firstMs }) => firstMs)).median;
    },
  });
  const work = `${bench.name}, ${clients} prompts of ${seen} tokens at once, median first token`;
  bench.report.compare({ work, unit: "ms", target: `≤ ${target}` }, figures);
}
