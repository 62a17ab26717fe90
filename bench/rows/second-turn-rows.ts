/** Time to the first token of a conversation's second turn against its first. */
import { type ChatServer, chat } from "../measuring/client.ts";
import { texts } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import { measured, ratioOf } from "../measuring/statistics.ts";

/** About 1,000 tokens of the starter model. */
const promptWords = 300;

export async function secondTurnRows(
  report: Report,
  runs: number,
  server: ChatServer,
): Promise<void> {
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let run = 0; run < Math.max(3, Math.ceil(runs / 2)); run++) {
    const content = `${texts(1, promptWords)[0]} In one sentence, what is this?`;
    const first = await chat(server, content, { maxTokens: 8 });
    const second = await chat(
      server,
      [
        { role: "user", content },
        { role: "assistant", content: first.text },
        { role: "user", content: "And why?" },
      ],
      { maxTokens: 8 },
    );
    cold.push(first.firstMs);
    warm.push(second.firstMs);
  }
  report.add({
    work: "Time to first token, 1,000-token prompt",
    unit: "ms",
    node: measured(cold),
  });
  report.add({
    work: "… second turn of that conversation",
    unit: "ms",
    node: measured(warm),
    ratio: ratioOf(warm, cold),
    target: "≤ 0.10 of the first",
  });
}
