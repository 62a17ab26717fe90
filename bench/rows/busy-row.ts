/** Tokens a second of one client beside programs that keep every core busy. */
import { availableParallelism } from "node:os";
import { type ChatServer, chatRate } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import { takeTurns } from "../measuring/turns.ts";
import { killAtExit } from "../servers/kill-at-exit.ts";
import type { ChatBench } from "./chat-bench.ts";

export interface BusyRow {
  /** Few: beside such programs a token of llama-server can take seconds. */
  tokens: number;
}

export async function busyRow(bench: ChatBench, { tokens }: BusyRow): Promise<void> {
  const { report, runs, name, servers } = bench;
  const { floor: _, ...contenders } = servers;
  const rates = () =>
    takeTurns({
      contenders,
      runs,
      prepare: () => stories(1),
      measure: async (server: ChatServer, prompts) =>
        (await chatRate(server, prompts, tokens)).rate,
    });
  const quiet = await rates();
  using _neighbours = busyCores();
  // Finds its threads, as it would have after a moment beside such programs.
  await chatRate(servers.node, stories(1), tokens);
  const busy = await rates();
  const work = `${name}, ${tokens} tokens, 1 client, every core busy with another program`;
  report.compare({ work, unit: "tok/s", target: "≥ 5" }, busy);
  const share = { node: busy.node, peer: quiet.node };
  report.compare(
    { work: `${name}, the same against quiet`, unit: "tok/s", target: "≥ 0.4" },
    share,
  );
}

/** A program for each core that computes without end. */
function busyCores(): Disposable {
  const programs = Array.from({ length: availableParallelism() }, () => {
    const program = Bun.spawn([process.execPath, "-e", "for (;;);"]);
    killAtExit(program);
    return program;
  });
  return {
    [Symbol.dispose]: () => {
      for (const program of programs) program.kill("SIGKILL");
    },
  };
}
