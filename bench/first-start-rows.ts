/** From the start of the program to the first token, as a newcomer waits for it: with nothing in place, and again. */
import { freePort } from "../tests/support/free-port.ts";
import { startPaddock } from "../tests/support/paddock-process.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { killAtExit } from "./kill-at-exit.ts";
import type { Report } from "./report.ts";
import { measured } from "./statistics.ts";

const pollMs = 20;
const body = JSON.stringify({
  model: "TinyLlama-1.1B-Chat-v1.0",
  messages: [{ role: "user", content: "What is the capital of France?" }],
  max_tokens: 1,
});

interface Start {
  /** Seconds to the first token. */
  token: number;
  /** Seconds until every passage is there too. */
  complete: number;
}

export async function firstStartRows(report: Report, runs: number): Promise<void> {
  const [first, later]: [Start[], Start[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    await using folder = await tempDir();
    first.push(await start(folder.path));
    later.push(await start(folder.path));
  }
  const add = (work: string, seconds: readonly number[], target?: string): void =>
    report.add({
      work: `From start to ${work}`,
      unit: "s",
      node: measured(seconds),
      ...(target === undefined ? {} : { target }),
    });
  const tokens = (starts: readonly Start[]): number[] => starts.map(({ token }) => token);
  add("the first token, first start", tokens(first), "≤ 15 s");
  add("the first token, later starts", tokens(later), "≤ 3 s");
  const all = first.map(({ complete }) => complete);
  add("the last passage of the handbook, first start", all);
}

async function start(cwd: string): Promise<Start> {
  const port = await freePort();
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  await using node = startPaddock(["serve", "--port", String(port)], { cwd });
  killAtExit(node.process);
  const origin = `http://127.0.0.1:${port}`;
  const until = async (holds: () => Promise<boolean>): Promise<number> => {
    while (!(await holds().catch(() => false))) {
      if (node.process.exitCode !== null) throw new Error(`The node ended:\n${node.stderr()}`);
      await Bun.sleep(pollMs);
    }
    return seconds();
  };
  const headers = { "content-type": "application/json" };
  const token = await until(async () => {
    const address = new URL("/v1/chat/completions", origin);
    return (await fetch(address, { method: "POST", headers, body })).ok;
  });
  const complete = await until(async () => {
    const ready = await fetch(new URL("/ready", origin));
    return ready.ok && (await ready.text()).includes('"reasons":[]');
  });
  return { token, complete };
}
