/** Progress of long work: one moving line on a terminal, a few plain lines elsewhere. */
import type { Progress, ProgressStep } from "../core/progress.ts";
import type { Shell } from "./shell.ts";

type Unit = Parameters<Progress["step"]>[2];

const barWidth = 24;
const redrawMs = 100;
/** Elsewhere than on a terminal, a line at each quarter is enough. */
const plainSteps = 4;

export function createProgress({ isTerminal, say }: Shell): Progress {
  return {
    step: (label, total, unit) =>
      isTerminal ? bar(say, label, total, unit) : lines(say, label, total, unit),
  };
}

function bar(say: Shell["say"], label: string, total: number, unit: Unit): ProgressStep {
  const startedAt = performance.now();
  let drawnAt = 0;
  const draw = (done: number, note?: string): void => {
    const seconds = (performance.now() - startedAt) / 1000;
    const rate = done / Math.max(seconds, 0.001);
    const speed =
      unit === "percent" ? "" : note === undefined ? `  ${amount(rate, unit)}/s` : `  ${note}`;
    if (total === 0) {
      say(`\r\u001b[K${label} ${amount(done, unit)}${speed}`);
      return;
    }
    const share = Math.min(1, done / total);
    const filled = Math.round(share * barWidth);
    const left = rate > 0 ? Math.ceil((total - done) / rate) : 0;
    say(
      `\r\u001b[K${label} [${"=".repeat(filled)}${" ".repeat(barWidth - filled)}] ${Math.floor(share * 100)} %${speed}  ${left} s left`,
    );
  };
  draw(0);
  return {
    update(done, note) {
      if (performance.now() - drawnAt < redrawMs) return;
      drawnAt = performance.now();
      draw(done, note);
    },
    finish(note) {
      say(`\r\u001b[K${label}: ${note ?? "done"} (${elapsed(startedAt)})\n`);
    },
  };
}

function lines(say: Shell["say"], label: string, total: number, unit: Unit): ProgressStep {
  const startedAt = performance.now();
  let said = 0;
  say(`${label} ...\n`);
  return {
    update(done, note) {
      const reached = total === 0 ? 0 : Math.floor((done / total) * plainSteps);
      // Short work needs no lines between its first and its last.
      if (reached <= said || reached === plainSteps || performance.now() - startedAt < 1000) return;
      said = reached;
      const more = note === undefined ? "" : `, ${note}`;
      say(`${label}: ${Math.floor((done / total) * 100)} % of ${amount(total, unit)}${more}\n`);
    },
    finish(note) {
      say(`${label}: ${note ?? "done"} (${elapsed(startedAt)})\n`);
    },
  };
}

const elapsed = (startedAt: number): string =>
  `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;

function amount(value: number, unit: Unit): string {
  if (unit === "bytes") {
    return value < 1e6 ? `${Math.round(value / 1e3)} kB` : `${(value / 1e6).toFixed(1)} MB`;
  }
  if (unit === "percent") return `${Math.round(value)} %`;
  return `${Math.round(value)} passages`;
}
