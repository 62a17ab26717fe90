/** What a client is to the script that tries it. */
import type { CommandOptions, Ran } from "./command.ts";
import type { Own } from "./page.ts";

/** What is tried besides the lines of the page. */
export type Trial = "plain" | "streamed" | "tool" | "abort" | "key" | "model" | "long";

export const trials: readonly Trial[] = [
  "plain",
  "streamed",
  "tool",
  "abort",
  "key",
  "model",
  "long",
];

/** What the specification's 500 for an unknown model comes to in clients that repeat every 500. */
export const repeated = "repeated for minutes";

export interface Workplace {
  /** Where its packages are installed. */
  folder: string;
  /** A folder of its own for a run, which is the client's home too. */
  cwd: string;
  /** docs/clients.md. */
  page: string;
  own: Own;
  env: Record<string, string>;
}

export interface Client {
  /** As its section of docs/clients.md is called. */
  name: string;
  /** With their versions, the one that the table names first. */
  packages: readonly string[];
  /** What its trials are known to come to, which are not run; `–`: it has no way to do it. */
  known?: Readonly<Partial<Record<Trial, string>>>;
  /** Runs the lines of the page, word for word. */
  lines(place: Workplace): Promise<Ran>;
  /** Asks something in one of the ways. */
  ask(place: Workplace, trial: Trial, question: string, stop: CommandOptions["stop"]): Promise<Ran>;
}
