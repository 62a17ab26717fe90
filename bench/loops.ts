/**
 * `bun bench/loops.ts`: in how many answers to 50 made open prompts a sentence or a line comes three
 * times or more, with the starter chat model's own sampling and with others, and how many plain
 * questions it answers rightly with each.
 * `--sampling '{}' --sampling '{"dry_multiplier":0}' [--tokens 512] [--times 1] [--page] [--show]`
 */
import { parseArgs } from "node:util";
import prompts from "./made/open-prompts.json";
import { type AnswerOptions, type ChatServer, type ChatTurn, chat } from "./measuring/client.ts";
import { count } from "./measuring/options.ts";
import { rightAnswers } from "./rows/right-answers.ts";
import { startStarterNode } from "./rows/starter-node.ts";

/** As many as the node has slots. */
const clients = 4;
/** A shorter sentence or line may come again: "Yes.", "1.", "}". */
const shortest = 8;
const tooOften = 3;
/** What the page tells a model by default. */
const pageSystem = "You are a helpful assistant.";

interface Answer {
  kind: string;
  prompt: string;
  text: string;
  tokens: number;
  /** What it repeats most, and how often. */
  repeated: [text: string, times: number];
}

const { values: options } = parseArgs({
  options: {
    sampling: { type: "string", multiple: true, default: ["{}"] },
    tokens: { type: "string", default: "512" },
    times: { type: "string", default: "1" },
    /** As the page asks: with its system prompt. */
    page: { type: "boolean", default: false },
    /** Also writes every answer that repeats itself. */
    show: { type: "boolean", default: false },
    threads: { type: "string", default: "0" },
  },
});
const [maxTokens, times] = [count("tokens", options.tokens), count("times", options.times)];
await using server = await startStarterNode({ threads: options.threads });
console.log(
  "| Sampling | Loops | of these lists, how-tos, … | Ends by itself | Tokens | Plain questions |",
);
console.log("|---|---|---|---|---|---|");
for (const text of options.sampling) {
  const sampling: AnswerOptions["sampling"] = JSON.parse(text);
  const answers = await answersTo(server, sampling);
  const loops = answers.filter(({ repeated: [, often] }) => often >= tooOften);
  const kinds = Object.entries(Object.groupBy(loops, ({ kind }) => kind));
  const ended = answers.filter(({ tokens }) => tokens < maxTokens);
  const tokens = answers.reduce((sum, answer) => sum + answer.tokens, 0) / answers.length;
  const { right, asked } = await rightAnswers(server, { times: 5, sampling });
  const row = [
    `\`${text}\``,
    `${loops.length} of ${answers.length}`,
    kinds.map(([kind, some = []]) => `${kind} ${some.length}`).join(", ") || "–",
    ended.length,
    tokens.toFixed(0),
    `${right} of ${asked}`,
  ];
  console.log(`| ${row.join(" | ")} |`);
  if (!options.show) continue;
  for (const { prompt, repeated, text: answer } of loops) {
    console.log(`\n## ${prompt}\n${repeated[1]} times: ${repeated[0]}\n\n${answer}`);
  }
}

/** Each prompt so many times, with seeds that are the same in every run. */
async function answersTo(node: ChatServer, sampling: AnswerOptions["sampling"]): Promise<Answer[]> {
  const waiting = Array.from({ length: times }, (_, round) =>
    prompts.map((prompt, at) => ({ ...prompt, seed: 1 + round * prompts.length + at })),
  ).flat();
  const answers: Answer[] = [];
  const told: ChatTurn[] = options.page ? [{ role: "system", content: pageSystem }] : [];
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { kind, prompt, seed } = next;
        const messages: ChatTurn[] = [...told, { role: "user", content: prompt }];
        const asked = { maxTokens, sampling: { ...sampling, seed } };
        const { text, tokens } = await chat(node, messages, asked);
        answers.push({ kind, prompt, text, tokens, repeated: mostRepeated(text) });
      }
    }),
  );
  return answers;
}

/** The sentence or line of more than a few characters that comes most often. */
function mostRepeated(text: string): Answer["repeated"] {
  const pieces = text
    .split(/\n+|(?<=[.!?])\s+/)
    // A list's number or mark is not part of what it says.
    .map((piece) => piece.replace(/^\s*(?:[-*•]|\d+[.)])\s*/, "").trim())
    .filter((piece) => piece.length > shortest);
  const counts = Map.groupBy(pieces, (piece) => piece);
  const most = [...counts].toSorted(([, a], [, b]) => b.length - a.length)[0];
  return most === undefined ? ["", 0] : [most[0], most[1].length];
}
