/**
 * How long reading documents takes, and whether twice the size takes twice as long: each kind at a
 * quarter, half and all of the largest size that the default limits allow, in CPU time.
 * `bun bench:reading [--only WORD]`
 */
import { parseArgs } from "node:util";
import { readDocument } from "../../src/ingest/readers/read.ts";
import { made } from "./made-documents.ts";

const { values: options } = parseArgs({ options: { only: { type: "string", default: "" } } });

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

console.log(
  "| Document | MB | CPU s at 1/4, 1/2, all | Twice the size takes | MB/s | Memory, MB | Texts |",
);
console.log("|---|---|---|---|---|---|---|");
for (const [kind, { most, make }] of Object.entries(made)) {
  if (!kind.includes(options.only)) continue;
  const times: number[] = [];
  let last = { size: 0, outcome: "" };
  for (const count of [most / 4, most / 2, most].map(Math.floor)) {
    const { name, bytes } = await make(count);
    Bun.gc(true);
    const before = cpuSeconds();
    const outcome = await readDocument(name, bytes).then(
      ({ length }) => String(length),
      (error: unknown) => String(error).slice(0, 60),
    );
    times.push(cpuSeconds() - before);
    last = { size: bytes.length / 1e6, outcome };
  }
  const [, half = 0, whole = 0] = times;
  const memory = process.memoryUsage().rss / 1e6;
  console.log(
    `| ${kind} | ${last.size.toFixed(1)} | ${times.map((time) => time.toFixed(2)).join(", ")} | ${(whole / half).toFixed(1)} × | ${(last.size / whole).toFixed(1)} | ${memory.toFixed(0)} | ${last.outcome} |`,
  );
}
