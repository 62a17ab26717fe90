/** Tokens a second of 1 to 16 clients at once. */

import { type ChatServer, chatRate } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import { type Contenders, mapContenders, takeTurns } from "../measuring/turns.ts";
import type { Floor } from "../servers/floor-process.ts";
import { type ChatBench, checkLength } from "./chat-bench.ts";

export interface ClientRows {
  tokens: number;
  /** How many clients, and the least ratio to llama-server. */
  targets: readonly (readonly [clients: number, ratio: string])[];
}

type Rate = (prompts: readonly string[], tokens: number) => Promise<number>;

export async function clientRows(bench: ChatBench, { tokens, targets }: ClientRows): Promise<void> {
  const { report, runs, name, servers, floor } = bench;
  const rateOf =
    (server: ChatServer): Rate =>
    async (prompts, most) => {
      const { rate, answers } = await chatRate(server, prompts, most);
      checkLength(bench, server, answers, most);
      return rate;
    };
  const contenders: Contenders<Rate> = {
    ...mapContenders(servers, rateOf),
    ...(floor && { floor: floorRate(floor) }),
  };
  for (const [clients, target] of targets) {
    const figures = await takeTurns({
      contenders,
      runs,
      prepare: () => stories(clients),
      measure: (rate, prompts) => rate(prompts, tokens),
    });
    const plural = clients > 1 ? "s" : "";
    const work = `${name}, ${tokens} tokens, ${clients} client${plural}`;
    report.compare({ work, unit: "tok/s", target: `≥ ${target}` }, figures);
  }
}

const floorRate =
  (floor: Floor): Rate =>
  async (prompts, tokens) => {
    const answer = await floor.ask({
      kind: "chat",
      clients: prompts.length,
      tokens,
      prompts: [...prompts],
    });
    return (answer.tokens / answer.ms) * 1000;
  };
