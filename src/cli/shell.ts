/** The process as commands see it: input, output, environment. Created by main.ts only. */
import { NodeError } from "../core/errors.ts";
import type { HandbookPage } from "../ingest/handbook.ts";
import type { Processes } from "../node/running-node.ts";
import type { Program } from "../subprocess/program.ts";

/** A failed command, with a message for the user; exits with code 1. */
export class CommandError extends NodeError {
  constructor(message: string, options: ErrorOptions = {}) {
    super("invalid_request", message, options);
  }
}

export interface Shell {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  program: Program;
  version: string;
  build: string;
  handbook: () => Promise<readonly HandbookPage[]>;
  /** Whether stderr is a terminal. */
  isTerminal: boolean;
  hasColour: boolean;
  /** Writes results to standard output, without control characters. */
  print(text: string): void;
  /** The same for large output, with back pressure. */
  printAll(texts: AsyncIterable<string>): Promise<void>;
  /** Writes messages to standard error, without control characters. */
  say(text: string): void;
  /** Writes to standard output unchanged, with colours; untrusted text must be made printable. */
  paint(text: string): void;
  /** The same to standard error, for progress that moves. */
  draw(text: string): void;
  input: ShellInput;
  residentMemory: () => number;
  /** This process, and how others are recognized and signalled. */
  processes: Processes;
  /** Calls back at SIGHUP, which then ends the process only if its terminal was closed. */
  onHangup(hear: () => void): Disposable;
  stopped: AbortSignal;
  /** Ends the process at once, whatever still runs in it. */
  end(code: number): void;
}

interface ShellInput {
  isTerminal: boolean;
  stream(): AsyncIterable<Uint8Array>;
  line(): Promise<string>;
  /** Standard input and output themselves, for line editing. */
  terminal(): { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };
}
