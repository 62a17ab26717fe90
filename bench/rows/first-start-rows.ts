/**
 * What a newcomer waits for: from the start of the program to the first answer, with nothing in place
 * and again, where that time goes, and how fast the node is in its first minute, while it still does
 * things in the background.
 */
import { freePort } from "../../tests/support/free-port.ts";
import { startPaddock } from "../../tests/support/paddock-process.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { type ChatServer, chat, chatRate } from "../measuring/client.ts";
import { stories } from "../measuring/prompts.ts";
import type { Report } from "../measuring/report.ts";
import { measured } from "../measuring/statistics.ts";
import { killAtExit } from "../servers/kill-at-exit.ts";
import { canPlay, playedCpu } from "./played-cpu.ts";

const pollMs = 20;
const model = "TinyLlama-1.1B-Chat-v1.0";
const question = "What is the capital of France?";
/** As long as the answer is. */
const answerTokens = 17;
const rateTokens = 24;
/** Converting the weights on one thread takes minutes. */
const longestMs = 15 * 60_000;

interface Speed {
  /** Four callers' tokens a second against one's. */
  together: number;
  /** Seconds to the first token of a request beside three others. */
  firstToken: number;
}

interface Start {
  /** Seconds to the first token, and to the end of a short answer. */
  token: number;
  answer: number;
  /** Seconds to what the log says, by its message. */
  steps: Map<string, number>;
}

interface FirstStart extends Start {
  early: Speed;
  /** Once all that is done in the background is over. */
  late: Speed;
  /** Seconds until then. */
  complete: number;
}

/** `cpu`: the kind that is played; absent: this machine's own. */
export async function firstStartRows(report: Report, runs: number, cpu?: string): Promise<void> {
  if (cpu !== undefined && !canPlay) {
    report.say(`another CPU (${cpu}) is played on Linux x64 only`);
    return;
  }
  await using stack = new AsyncDisposableStack();
  const program = cpu === undefined ? undefined : stack.use(await playedCpu(cpu)).entry;
  const [first, later]: [FirstStart[], Start[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    await using folder = await tempDir();
    first.push(await start(folder.path, program, firstMinutes));
    later.push(await start(folder.path, program, async () => ({})));
  }
  const as = cpu === undefined ? "" : `, as ${cpu}`;
  const add = (work: string, unit: string, values: readonly number[], target?: string): void =>
    report.add({
      work: `${work}${as}`,
      unit,
      node: measured(values),
      ...(target === undefined ? {} : { target }),
    });
  add(
    "From start to the first token, first start",
    "s",
    first.map(({ token }) => token),
  );
  add(
    "From start to a short answer, first start",
    "s",
    first.map(({ answer }) => answer),
    "≤ 15 s",
  );
  add(
    "From start to a short answer, later starts",
    "s",
    later.map(({ answer }) => answer),
    "≤ 4 s",
  );
  add(
    "From start to the end of all work in the background",
    "s",
    first.map((one) => one.complete),
  );
  add(
    "Four callers to one in the first minute, against later",
    "of later",
    first.map(({ early, late }) => early.together / late.together),
    "≥ 0.9",
  );
  add(
    "A request's first token beside three, in the first minute",
    "s",
    first.map(({ early }) => early.firstToken),
  );
  add(
    "The same later",
    "s",
    first.map(({ late }) => late.firstToken),
  );
  for (const [name, starts] of [
    ["first", first],
    ["later", later],
  ] as const) {
    const steps = [...(starts[0]?.steps ?? [])].map(([text, at]) => `${at.toFixed(1)} s ${text}`);
    report.note(`a ${name} start${as}: ${steps.join("; ")}`);
  }
}

async function start<More>(
  cwd: string,
  entry: string | undefined,
  measure: (server: ChatServer, until: Until) => Promise<More>,
): Promise<Start & More> {
  const port = await freePort();
  const [startedAt, startedOn] = [performance.now(), Date.now()];
  const options = { cwd, env: { PADDOCK_LOG_LEVEL: "info" }, ...(entry && { entry }) };
  await using node = startPaddock(["serve", "--port", String(port)], options);
  killAtExit(node.process);
  const until: Until = async (holds) => {
    while (!(await holds().catch(() => false))) {
      if (node.process.exitCode !== null) throw new Error(`The node ended:\n${node.stderr()}`);
      if (performance.now() - startedAt > longestMs) throw new Error("It takes too long");
      await Bun.sleep(pollMs);
    }
    return (performance.now() - startedAt) / 1000;
  };
  const server: ChatServer = { baseUrl: `http://127.0.0.1:${port}/v1`, model };
  let token = Number.NaN;
  const onFirstToken = (): void => {
    token = (performance.now() - startedAt) / 1000;
  };
  const asked = { maxTokens: answerTokens, onFirstToken };
  const answer = await until(async () => (await chat(server, question, asked)).tokens > 0);
  const steps = stepsOf(node.stderr(), startedOn);
  return { token, answer, steps, ...(await measure(server, until)) };
}

/** Polls; gives the seconds since the start. */
type Until = (holds: () => Promise<boolean>) => Promise<number>;

async function firstMinutes(
  server: ChatServer,
  until: Until,
): Promise<Pick<FirstStart, "early" | "late" | "complete">> {
  const early = await speedOf(server);
  const complete = await until(async () => {
    const ready = await fetch(new URL("/ready", server.baseUrl));
    return ready.ok && (await ready.text()).includes('"reasons":[]');
  });
  return { early, complete, late: await speedOf(server) };
}

async function speedOf(server: ChatServer): Promise<Speed> {
  const one = await chatRate(server, stories(1), rateTokens);
  const four = await chatRate(server, stories(4), rateTokens);
  const running = chatRate(server, stories(3), rateTokens);
  const { firstMs } = await chat(server, question, { maxTokens: 1 });
  await running;
  return { together: four.rate / one.rate, firstToken: firstMs / 1000 };
}

/** The lines of the log, with the seconds to each. */
function stepsOf(log: string, startedOn: number): Map<string, number> {
  const steps = new Map<string, number>();
  for (const line of log.split("\n")) {
    if (!line.startsWith("{")) continue;
    const {
      time,
      msg,
      model: of,
    }: { time: number; msg: string; model?: string } = JSON.parse(line);
    steps.set(of === undefined ? msg : `${msg} (${of})`, (time - startedOn) / 1000);
  }
  return steps;
}
