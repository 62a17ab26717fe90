/** Tries one client in every way, and says of each whether it went as it should. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AgentNode, endless, plainAnswer } from "../../tests/support/agent-node.ts";
import { type Client, repeated, type Trial, trials, type Workplace } from "./client.ts";
import type { Ran } from "./command.ts";

export interface Seen {
  path: string;
  status: number;
  isStream: boolean;
}

export interface TryOptions {
  node: Pick<AgentNode, "agent">;
  /** What the node was asked. */
  seen: Seen[];
  /** Where transcripts go. */
  transcripts: string;
  wrongKey: string;
}

/** What a client is asked with, and what of its output shows that it went well. */
const word = /marmalade/;
const plain = new RegExp(plainAnswer);
const questions: Readonly<Partial<Record<Trial, string>>> = {
  tool: "Which word is in note.txt?",
  abort: `Hum ${endless}.`,
};
const signs: Readonly<Record<Trial, RegExp>> = {
  plain,
  streamed: plain,
  tool: word,
  abort: /./s,
  key: /\bkey\b|invalid_api_key|401|not logged in/i,
  model: /not on this node|model_not_found|may not exist/i,
  long: /context|too long|tokens/i,
};
/** Fewer than any question has, so that each is too long. */
const shortContext = 2;
const waitMs = 30_000;

/** `yes`, what is known of the client instead, or what is wrong. */
export async function tryClient(
  client: Client,
  place: Workplace,
  options: TryOptions,
): Promise<string[]> {
  const cells: string[] = [];
  for (const trial of ["lines", ...trials] as const) {
    // Once more where it failed: some wait for servers that a busy machine reaches late.
    const first = await attempt(client, place, trial, options);
    const cell = isFine(first) ? first : await attempt(client, place, trial, options);
    console.log(`  ${trial}: ${cell}`);
    cells.push(cell);
  }
  return cells;
}

/** Whether a cell of the table is as it should be, or as it is known to be. */
export const isFine = (cell: string): boolean => ["yes", "–", repeated].includes(cell);

async function attempt(
  client: Client,
  at: Workplace,
  trial: Trial | "lines",
  { node, seen, transcripts, wrongKey }: TryOptions,
): Promise<string> {
  const known = trial === "lines" ? undefined : client.known?.[trial];
  if (known !== undefined) return known;
  const { agent } = node;
  const own = {
    ...at.own,
    ...(trial === "key" ? { key: wrongKey } : {}),
    ...(trial === "model" ? { model: "no-such-model" } : {}),
  };
  const place = { ...at, own };
  await rm(place.cwd, { recursive: true, force: true });
  await mkdir(place.cwd, { recursive: true });
  seen.length = 0;
  agent.requests.length = 0;
  const { contextSize, abandoned } = agent;
  if (trial === "long") agent.contextSize = shortContext;
  let ran: Ran;
  let verdict: string;
  try {
    if (trial === "lines") {
      ran = await client.lines(place);
      verdict = plain.test(ran.output) || word.test(ran.output) ? "yes" : "no answer";
    } else if (trial === "abort") {
      const leave = new AbortController();
      const begun = until(() => agent.requests.length > 0);
      const asked = client.ask(place, trial, questions.abort ?? "", leave.signal);
      void begun.then((isBegun) => isBegun && setTimeout(() => leave.abort(), 1000));
      ran = await asked;
      const isLeft = (await begun) && (await until(() => agent.abandoned > abandoned));
      verdict = isLeft ? "yes" : "the node went on";
    } else {
      const question = questions[trial] ?? "Do llamas hum?";
      ran = await client.ask(place, trial, question, undefined);
      verdict = judge(trial, ran, seen);
    }
  } finally {
    agent.contextSize = contextSize;
  }
  await note(transcripts, client.name, trial, ran, seen, agent.requests);
  return verdict;
}

function judge(trial: Trial, { code, output }: Ran, seen: readonly Seen[]): string {
  if (code === undefined) return "did not end";
  if (!signs[trial].test(output)) return "without the reason";
  if (trial === "key" && !seen.some(({ status }) => status === 401)) return "was let in";
  if (trial === "streamed" && !seen.some(({ isStream }) => isStream)) return "not streamed";
  return "yes";
}

async function until(isSo: () => boolean): Promise<boolean> {
  const end = Date.now() + waitMs;
  while (!isSo() && Date.now() < end) await Bun.sleep(50);
  return isSo();
}

/** What was asked, what the model saw, and what the client printed, for a person to read. */
async function note(
  folder: string,
  name: string,
  trial: string,
  ran: Ran,
  seen: readonly Seen[],
  requests: AgentNode["agent"]["requests"],
): Promise<void> {
  const turns = requests.map(({ messages, toolUse }) => ({
    tools: toolUse?.tools.map((tool) => tool.name),
    messages: messages.map((message) => ({
      ...message,
      content: message.content.slice(0, 400),
    })),
  }));
  const text = [
    `# ${name}, ${trial}: exit code ${ran.code ?? "none, it was ended"}`,
    ...seen.map(({ path, status, isStream }) => `${path} ${status}${isStream ? " streamed" : ""}`),
    "## What it printed",
    ran.output,
    "## What the model was asked",
    JSON.stringify(turns, null, 2),
  ];
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, `${trial}.txt`), `${text.join("\n")}\n`);
}
