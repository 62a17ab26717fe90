/** Shows progress: one moving line on a terminal, else a few plain lines. */
import { byteSize } from "../core/byte-size.ts";
import { type Progress, type ProgressStep, pace, timeLeft } from "../core/progress.ts";
import { printableName } from "./printing.ts";
import type { Shell } from "./shell.ts";

type Unit = Parameters<Progress["step"]>[2];

interface Work {
  label: string;
  total: number;
  unit: Unit;
  from: number;
  startedAt: number;
  rateAt: (done: number) => number;
}

const barWidth = 24;
const redrawMs = 100;
/** Without a terminal, a line at each quarter is enough, and one a minute. */
const plainSteps = 4;
const plainEveryMs = 60_000;

export function createProgress({ isTerminal, say, draw }: Shell): Progress {
  const write = isTerminal ? (line: string) => draw(`\r\u001b[K${line}`) : say;
  return {
    step: (name, total, unit, from = 0) => {
      const label = printableName(name);
      const startedAt = performance.now();
      const work = { label, total, unit, from, startedAt, rateAt: pace(from) };
      return {
        update: isTerminal ? bar(write, work) : lines(write, work),
        finish: (note = "done") => {
          const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
          write(`${label}: ${printableName(note)} (${seconds} s)\n`);
        },
      };
    },
  };
}

function bar(
  write: (line: string) => void,
  { label, total, unit, from, rateAt }: Work,
): ProgressStep["update"] {
  let drawnAt = 0;
  const draw = (done: number, note?: string): void => {
    const rate = rateAt(done);
    const told = note === undefined ? `${amount(rate, unit)}/s` : printableName(note);
    const speed = unit === "percent" ? "" : `  ${told}`;
    if (total === 0) {
      write(`${label} ${amount(done, unit)}${speed}`);
      return;
    }
    const share = Math.min(1, done / total);
    const filled = Math.round(share * barWidth);
    write(
      `${label} [${"=".repeat(filled)}${" ".repeat(barWidth - filled)}] ${Math.floor(share * 100)} %${speed}${timeLeft(total - done, rate, "  ")}`,
    );
  };
  draw(from);
  return (done, note) => {
    if (performance.now() - drawnAt < redrawMs) return;
    drawnAt = performance.now();
    draw(done, note);
  };
}

function lines(
  say: (line: string) => void,
  { label, total, unit, from, startedAt, rateAt }: Work,
): ProgressStep["update"] {
  const quarterOf = (done: number): number =>
    total === 0 ? 0 : Math.floor((done / total) * plainSteps);
  let said = quarterOf(from);
  let saidAt = startedAt;
  say(`${label} ...\n`);
  return (done, note) => {
    const now = performance.now();
    const rate = unit === "bytes" ? rateAt(done) : 0;
    const reached = quarterOf(done);
    // Short work needs no lines between its first and its last.
    if (total === 0 || reached === plainSteps || now - startedAt < 1000) return;
    if (reached <= said && now - saidAt < plainEveryMs) return;
    said = reached;
    saidAt = now;
    const speed = unit === "bytes" ? `, ${amount(rate, unit)}/s` : "";
    const left = unit === "bytes" ? timeLeft(total - done, rate, ", ") : "";
    const more = note === undefined ? `${speed}${left}` : `, ${note}`;
    say(`${label}: ${Math.floor((done / total) * 100)} % of ${amount(total, unit)}${more}\n`);
  };
}

function amount(value: number, unit: Unit): string {
  if (unit === "bytes") return byteSize(value);
  if (unit === "percent") return `${Math.round(value)} %`;
  return `${Math.round(value)} passages`;
}
