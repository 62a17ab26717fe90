/** What a command may know of the process it runs in; main.ts alone makes one. */

import { NodeError } from "../core/errors.ts";
import type { HandbookPage } from "../ingest/handbook.ts";
import type { Processes } from "../node/running-node.ts";
import type { Program } from "../subprocess/program.ts";

/** What a person is told whose command cannot be done; it ends with exit code 1. */
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
  /** What it was built from. */
  build: string;
  /** The pages about the node itself. */
  handbook: () => Promise<readonly HandbookPage[]>;
  /** Whether stderr is a terminal. */
  isTerminal: boolean;
  /** Whether what is printed may have colour. */
  hasColour: boolean;
  /** Writes to standard output: what the command was asked for, without control characters. */
  print(text: string): void;
  /** The same for much of it: no faster than it is read. */
  printAll(texts: AsyncIterable<string>): Promise<void>;
  /** Writes to standard error: messages, without control characters. */
  say(text: string): void;
  /** Writes to standard output as it is, colours included; text of others must be printable already. */
  paint(text: string): void;
  /** The same to standard error, for progress that moves. */
  draw(text: string): void;
  input: ShellInput;
  /** How much memory the process holds, in bytes. */
  residentMemory: () => number;
  /** This process, and how others are recognized and signalled. */
  processes: Processes;
  /**
   * Calls back at SIGHUP, which ends the process where nobody listens. It still ends one whose
   * terminal was closed. Windows has no such signal.
   */
  onHangup(hear: () => void): Disposable;
  /** Fires when the process is asked to stop. */
  stopped: AbortSignal;
}

interface ShellInput {
  /** Whether a person sits at it. */
  isTerminal: boolean;
  /** Everything, as it comes. */
  stream(): AsyncIterable<Uint8Array>;
  /** The next line that a person types. */
  line(): Promise<string>;
  /** Standard input and output themselves, for what edits lines on a terminal. */
  terminal(): { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };
}
