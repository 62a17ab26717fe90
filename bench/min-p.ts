/** `bun bench/min-p.ts`: which min_p suits the starter chat model, by how many plain questions it answers rightly. */
import { rightAnswers } from "./right-answers.ts";
import { startStarterNode } from "./starter-node.ts";

const times = 5;
await using server = await startStarterNode();
const show = (name: string, { right, asked, wrong }: Awaited<ReturnType<typeof rightAnswers>>) => {
  const missed = [...wrong].map(([question, count]) => `${question} ${count}`);
  console.log(`${name}: ${right} of ${asked}; wrong: ${missed.join("; ") || "none"}`);
};
show("temperature 0", await rightAnswers(server, { times: 1, sampling: { temperature: 0 } }));
for (const min_p of [0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9]) {
  show(`min_p ${min_p}`, await rightAnswers(server, { times, sampling: { min_p } }));
}
