/** How long a new request waits for its first token while three answers run and every slot was used before. */

import { type Answered, type ChatServer, chat } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import { measured } from "../measuring/statistics.ts";
import { takeTurns } from "../measuring/turns.ts";
import { type ChatBench, checkLength, promptsOf } from "./chat-bench.ts";

const running = 3;
const promptTokens = 40;
/** Requests beside one set of answers; more would only take longer. */
const mostProbes = 64;

interface Work {
  stories: string[];
  probes: string[];
}

/** `tokens`: how long the running answers are. */
export async function besideRow(
  bench: ChatBench,
  { tokens, target }: { tokens: number; target: string },
): Promise<void> {
  const figures = await takeTurns({
    contenders: bench.servers,
    runs: bench.runs,
    isTime: true,
    prepare: (): Work => ({
      stories: stories(running),
      probes: promptsOf(bench, mostProbes, promptTokens),
    }),
    measure: async (server, work) => {
      const { answers, waits } = await firstTokensBeside(server, work, tokens);
      checkLength(bench, server, answers, tokens);
      return measured(waits).median;
    },
  });
  const work = `${bench.name}, first token of a new request beside ${running} running answers`;
  bench.report.compare({ work, unit: "ms", target: `≤ ${target}` }, figures);
}

/** One request after the other, each begun while all the answers ran. */
async function firstTokensBeside(
  server: ChatServer,
  { stories, probes }: Work,
  tokens: number,
): Promise<{ answers: Answered[]; waits: number[] }> {
  let hasEnded = false;
  const begun: Promise<unknown>[] = [];
  const answers = stories.map(async (story) => {
    const first = Promise.withResolvers<void>();
    begun.push(first.promise);
    try {
      return await chat(server, story, { maxTokens: tokens, onFirstToken: first.resolve });
    } finally {
      hasEnded = true;
      first.resolve();
    }
  });
  await Promise.all(begun);
  const waits: number[] = [];
  for (const probe of probes) {
    if (hasEnded) break;
    waits.push((await chat(server, probe, { maxTokens: 1 })).firstMs);
  }
  const whole = await Promise.all(answers);
  if (waits.length === 0) {
    throw new Error("The answers ended before a request could come beside them; make them longer");
  }
  return { answers: whole, waits };
}
