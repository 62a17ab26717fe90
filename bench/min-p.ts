/** `bun bench/min-p.ts`: which min_p suits the starter chat model, by how many plain questions it answers rightly. */
import { parseArgs } from "node:util";
import { count } from "./options.ts";
import { rightAnswers } from "./right-answers.ts";
import { startStarterNode } from "./starter-node.ts";

const { values: options } = parseArgs({
  options: {
    values: { type: "string", default: "0,0.05,0.1,0.2,0.4,0.6,0.8,0.9" },
    times: { type: "string", default: "5" },
    /** One is fastest on a machine that others keep busy; 0: as the node chooses. */
    threads: { type: "string", default: "0" },
  },
});
const times = count("times", options.times);
await using server = await startStarterNode({ threads: options.threads });
const show = (name: string, { right, asked, wrong }: Awaited<ReturnType<typeof rightAnswers>>) => {
  const missed = [...wrong].map(([question, misses]) => `${question} ${misses}`);
  console.log(`${name}: ${right} of ${asked}; wrong: ${missed.join("; ") || "none"}`);
};
for (const min_p of options.values.split(",").map(Number)) {
  show(`min_p ${min_p}`, await rightAnswers(server, { times, sampling: { min_p } }));
}
show("temperature 0", await rightAnswers(server, { times: 1, sampling: { temperature: 0 } }));
