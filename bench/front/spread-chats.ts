/** Clients that ask independently of each other: they begin one after the other, and each sends the next request when its answer has ended. */
import { type Answered, type ChatServer, chat } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";

export interface SpreadChats {
  /** How many ask at the same time. */
  clients: number;
  /** How often each asks. */
  answers: number;
  tokens: number;
  /** The time over which their beginnings lie; 0: all at once. */
  spreadMs: number;
}

export async function spreadChats(
  server: ChatServer,
  { clients, answers, tokens, spreadMs }: SpreadChats,
): Promise<{ rate: number; answers: Answered[] }> {
  const startedAt = performance.now();
  const made = await Promise.all(
    stories(clients).map(async (prompt, client) => {
      await Bun.sleep((spreadMs / clients) * client);
      const own: Answered[] = [];
      for (let turn = 0; turn < answers; turn++) {
        own.push(await chat(server, `${prompt} ${turn}`, { maxTokens: tokens }));
      }
      return own;
    }),
  );
  const ms = performance.now() - startedAt;
  const all = made.flat();
  return { rate: (all.reduce((sum, answer) => sum + answer.tokens, 0) / ms) * 1000, answers: all };
}
