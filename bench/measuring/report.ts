/** The rows of a run, and the table that is printed of them. */
import { type Measured, measured, ratioOf } from "./statistics.ts";

export interface Row {
  work: string;
  unit: string;
  node: Measured;
  /** llama-server. */
  peer?: Measured;
  /** The node against llama-server, or against what the row says. */
  ratio?: Measured;
  target?: string;
  /** The library in a bare loop. */
  floor?: Measured;
  floorRatio?: Measured;
}

/** What each of them measured, run by run. */
export interface Figures {
  node: readonly number[];
  peer?: readonly number[];
  floor?: readonly number[];
}

export class Report {
  readonly #rows: Row[] = [];
  readonly #notes: string[] = [];

  say(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  add(row: Row): void {
    this.#rows.push(row);
    const peer = row.peer === undefined ? "" : `, llama-server ${number(row.peer)}`;
    const ratio = row.ratio === undefined ? "" : `, ratio ${row.ratio.median.toFixed(3)}`;
    this.say(`  ${row.work}: ${number(row.node)} ${row.unit}${peer}${ratio}`);
  }

  /** A row of the node beside llama-server and the floor, where these took part. */
  compare(row: Pick<Row, "work" | "unit" | "target">, { node, peer, floor }: Figures): void {
    this.add({
      ...row,
      node: measured(node),
      ...(peer && { peer: measured(peer), ratio: ratioOf(node, peer) }),
      ...(floor && { floor: measured(floor), floorRatio: ratioOf(node, floor) }),
    });
  }

  /** What a reader must know to trust the rows; printed below them. */
  note(text: string): void {
    if (this.#notes.includes(text)) return;
    this.#notes.push(text);
    this.say(`  note: ${text}`);
  }

  print(machine: string, { runs, json }: { runs: number; json: boolean }): void {
    const date = new Date().toISOString().slice(0, 10);
    const [rows, notes] = [this.#rows, this.#notes];
    process.stdout.write(
      json
        ? `${JSON.stringify({ date, machine, runs, rows, notes }, null, 2)}\n`
        : `${date}, ${machine}; ${runs} runs each\n\n${this.#table()}\n${notes.map((text) => `\n- ${text}`).join("")}\n`,
    );
  }

  #table(): string {
    const columns: [title: string, cell: (row: Row) => string][] = [
      ["Work", ({ work }) => work],
      ["Node", ({ node, unit }) => `${number(node)} ${unit}`],
      ["llama-server", ({ peer }) => (peer ? number(peer) : "")],
      ["Ratio", ({ ratio }) => (ratio ? ratioText(ratio) : "")],
      ["Target", ({ target }) => target ?? ""],
      ["Floor", ({ floor }) => (floor ? number(floor) : "")],
      ["Node / floor", ({ floorRatio }) => (floorRatio ? ratioText(floorRatio) : "")],
    ];
    const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
    return [
      line(columns.map(([title]) => title)),
      `|${"---|".repeat(columns.length)}`,
      ...this.#rows.map((row) => line(columns.map(([, cell]) => cell(row)))),
    ].join("\n");
  }
}

function number({ median, low, high }: Measured): string {
  const digits = median < 10 ? 2 : median < 100 ? 1 : 0;
  const [m, l, h] = [median, low, high].map((value) => value.toFixed(digits));
  return low === high ? `${m}` : `${m} (${l}–${h})`;
}

const ratioText = ({ median, low, high }: Measured): string =>
  low === high ? median.toFixed(3) : `${median.toFixed(3)} (${low.toFixed(2)}–${high.toFixed(2)})`;
