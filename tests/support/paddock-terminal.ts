/** The real program in a terminal of its own, with a person at the keys. */
import { environmentIn, type PaddockOptions, programUnderTest } from "./paddock-process.ts";

export const ctrlC = "\u0003";
export const ctrlD = "\u0004";
export const arrowUp = "\u001b[A";

export interface PaddockTerminal extends AsyncDisposable {
  /** Presses keys; Enter is `\r`. */
  type(keys: string): void;
  /** What was shown since the last look, once it has the text. */
  shows(text: string): Promise<string>;
  /** Sends a signal to the process. */
  kill(signal: NodeJS.Signals): void;
  /** Closes the terminal, as a person closes a window. */
  hangUp(): void;
  /** Waits for the end; returns the exit code. */
  exit(): Promise<number>;
}

export function openTerminal(
  args: readonly string[],
  { cwd, env = {} }: Pick<PaddockOptions, "cwd" | "env">,
): PaddockTerminal {
  const decoder = new TextDecoder();
  let shown = "";
  let arrived = Promise.withResolvers<void>();
  const child = Bun.spawn([...programUnderTest, ...args], {
    cwd,
    env: { ...environmentIn(cwd), TERM: "xterm", ...env },
    terminal: {
      cols: 200,
      rows: 50,
      data(_, bytes) {
        shown += decoder.decode(bytes, { stream: true });
        arrived.resolve();
        arrived = Promise.withResolvers<void>();
      },
    },
  });
  return {
    type: (keys) => void child.terminal?.write(keys),
    async shows(text) {
      while (!shown.includes(text)) {
        if (child.exitCode !== null) throw new Error(`It ended without '${text}':\n${shown}`);
        await Promise.race([arrived.promise, child.exited]);
      }
      const end = shown.indexOf(text) + text.length;
      const seen = shown.slice(0, end);
      shown = shown.slice(end);
      return seen;
    },
    kill: (signal) => child.kill(signal),
    hangUp: () => child.terminal?.close(),
    exit: () => child.exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      child.terminal?.close();
    },
  };
}
