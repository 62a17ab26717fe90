/**
 * What `"rag": "auto"` does at several thresholds on a node that has nothing but its handbook: how
 * many of 50 made questions about the node are grounded, in a page that answers them, and how many of
 * 50 everyday questions, and of the questions of a file in SQuAD's format, are left alone.
 * `bun bench/retrieval/auto-grounding.ts [FILE] [--thresholds 0.4,0.5] [--threads N]`
 */

import { parseArgs } from "node:util";
import { theNode } from "../../src/core/documents/document-caller.ts";
import made from "../made/handbook-questions.json";
import { handbookCollection } from "./handbook-collection.ts";
import { readSet } from "./question-set.ts";

/** Of a file's questions so many are asked, spread over all of it. */
const mostOfFile = 200;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    thresholds: { type: "string", default: "0.4,0.45,0.5,0.55,0.6,0.65,0.7" },
    threads: { type: "string", default: "0" },
  },
});
const [file] = positionals;
const { signal } = new AbortController();
await using handbook = await handbookCollection(options.threads);

interface Best {
  question: string;
  score: number;
  page: string;
}

async function best(question: string): Promise<Best> {
  const bounds = { limit: 1, scoreThreshold: -1 };
  const { points } = await handbook.service.find(question, bounds, { signal }, { caller: theNode });
  const [first] = points;
  return { question, score: first?.score ?? -1, page: first?.document.split("/").at(-1) ?? "" };
}

const about: (Best & { pages: readonly string[] })[] = [];
for (const { question, pages } of made.about) about.push({ ...(await best(question)), pages });
const everyday: Best[] = [];
for (const question of made.everyday) everyday.push(await best(question));
const others: Best[] = [];
for (const question of await ofFile()) others.push(await best(question));

const column =
  file === undefined ? "" : ` | ${others.length} of ${file.split("/").at(-1)}, grounded`;
console.log(
  `| Threshold | About the node, grounded | in a page that answers | Everyday, grounded${column} |`,
);
console.log(`|---|---|---|---${file === undefined ? "" : "|---"}|`);
for (const threshold of options.thresholds.split(",").map(Number)) {
  const passes = ({ score }: Best): boolean => score >= threshold;
  const grounded = about.filter(passes);
  const right = grounded.filter(({ page, pages }) => pages.includes(page));
  const row = [threshold, grounded.length, right.length, everyday.filter(passes).length];
  if (file !== undefined) row.push(others.filter(passes).length);
  console.log(`| ${row.join(" | ")} |`);
}
const list = (all: readonly Best[]): string =>
  all.map(({ question, score, page }) => `${score.toFixed(2)} ${page}: ${question}`).join("\n  ");
const byScore = (a: Best, b: Best): number => a.score - b.score;
console.log(`\nAbout the node, lowest:\n  ${list(about.toSorted(byScore).slice(0, 10))}`);
console.log(`\nEveryday, highest:\n  ${list(everyday.toSorted(byScore).slice(-10))}`);

async function ofFile(): Promise<string[]> {
  if (file === undefined) return [];
  const { questions } = await readSet(file);
  const every = Math.max(1, Math.floor(questions.length / mostOfFile));
  return questions
    .filter((_, at) => at % every === 0)
    .slice(0, mostOfFile)
    .map(({ text }) => text);
}
