/**
 * What a chat is given for the second question of a conversation: 40 made questions about the
 * handbook, of which 30 lean on the first and 10 are about something else.
 * `bun bench:follow-ups [--threads N]`
 */

import { parseArgs } from "node:util";
import { leansOnBefore } from "../../src/core/chat/grounding.ts";
import { theNode } from "../../src/core/documents/document-caller.ts";
import questions from "../made/two-turn-questions.json";
import { handbookCollection } from "./handbook-collection.ts";

interface TwoTurns {
  first: string;
  second: string;
  /** Whether the second question leans on the first. */
  leans: boolean;
  /** Where the answer to the second is. */
  page: string;
  heading: string;
}

const { values: options } = parseArgs({ options: { threads: { type: "string", default: "0" } } });
const { signal } = new AbortController();
/** As a node does by default. */
const bounds = { limit: 5, scoreThreshold: 0.4 };

await using handbook = await handbookCollection(options.threads);
const { service } = handbook;

const ways: [string, (asked: TwoTurns) => string][] = [
  ["the last message alone", ({ second }) => second],
  ["always both", ({ first, second }) => `${first}\n${second}`],
  [
    "both where the last leans on the first",
    ({ first, second }) => (leansOnBefore(second) ? `${first}\n${second}` : second),
  ],
];
console.log("| Searched for | Questions | Given the right passage | It comes first |");
console.log("|---|---|---|---|");
for (const leans of [true, false]) {
  const asked: TwoTurns[] = questions.filter((question) => question.leans === leans);
  for (const [name, textOf] of ways) {
    let [among, first] = [0, 0];
    for (const question of asked) {
      const { points } = await service.find(
        textOf(question),
        bounds,
        { signal },
        { caller: theNode },
      );
      const at = points.findIndex(
        ({ document, heading }) =>
          document.endsWith(`/${question.page}`) && heading.includes(question.heading),
      );
      if (at !== -1) among++;
      if (at === 0) first++;
    }
    const kind = leans ? "lean on the first" : "are about something else";
    console.log(`| ${name} | ${asked.length} that ${kind} | ${among} | ${first} |`);
  }
}
const mistaken = questions.filter(({ second, leans }) => leansOnBefore(second) !== leans);
console.log(`\nTaken wrongly: ${mistaken.map(({ second }) => second).join("; ") || "none"}`);
