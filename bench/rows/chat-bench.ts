/** What the chat rows are measured on: one model, served by the node and by llama-server. */
import { type Answered, type ChatServer, chat, chatRate } from "../measuring/client.ts";
import { stories, texts } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import type { Contenders } from "../measuring/turns.ts";
import type { Floor } from "../servers/floor-process.ts";

export interface ChatBench {
  report: Report;
  runs: number;
  /** As the rows call the model. */
  name: string;
  servers: Contenders<ChatServer>;
  floor?: Floor;
  /** Tokens of one word of a prompt. */
  tokensPerWord: number;
}

/** Fills every slot of every server with something, and finds out how the model reads. */
export async function warmUp(
  report: Report,
  { node, peer, tuned }: Contenders<ChatServer>,
  slots: number,
): Promise<{ tokensPerWord: number }> {
  for (const server of [node, peer, tuned]) {
    if (server !== undefined) await chatRate(server, stories(slots), 8);
  }
  const [short = "", long = ""] = [...texts(1, 10), ...texts(1, 60)];
  const sizeOf = async (server: ChatServer, text: string): Promise<number> =>
    (await chat(server, text, { maxTokens: 1 })).promptTokens;
  const size = await sizeOf(node, long);
  const theirs = peer === undefined ? size : await sizeOf(peer, long);
  if (theirs !== size) {
    report.note(`the same prompt has ${size} tokens on the node and ${theirs} on llama-server`);
  }
  return { tokensPerWord: (size - (await sizeOf(node, short))) / 50 };
}

/** Prompts of about so many tokens each. */
export const promptsOf = ({ tokensPerWord }: ChatBench, count: number, tokens: number): string[] =>
  texts(count, Math.max(2, Math.round(tokens / tokensPerWord)));

/** An answer that ended by itself makes a comparison uneven; a reader must know. */
export function checkLength(
  { report, name, servers }: ChatBench,
  server: ChatServer,
  answers: readonly Answered[],
  tokens: number,
): void {
  const short = answers.filter((answer) => answer.tokens < tokens).length;
  if (short === 0) return;
  const who = server === servers.node ? "the node" : "llama-server";
  report.note(
    `${name}: ${short} of ${answers.length} answers of ${who} ended before ${tokens} tokens`,
  );
}
