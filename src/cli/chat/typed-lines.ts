/** The lines that a person types, with editing and a history, and what Ctrl-C means while they do. */
import { createInterface } from "node:readline";
import type { Shell } from "../shell.ts";

export interface TypedLines extends Disposable {
  /** The next line; undefined when there will be none. */
  next(prompt: string): Promise<string | undefined>;
  /** Calls back at each Ctrl-C. */
  onInterrupt(heard: () => void): void;
  /** Shows the prompt again, with what is typed so far left behind. */
  redraw(): void;
  /** Ends the input: a pending `next` resolves to undefined. */
  end(): void;
}

export function typedLines({ input, stopped }: Shell): TypedLines {
  const editor = createInterface({ ...input.terminal(), terminal: true, historySize: 1000 });
  const typed: string[] = [];
  let waiting: ((line: string | undefined) => void) | undefined;
  let isOver = false;
  const deliver = (): void => {
    if (waiting === undefined || (typed.length === 0 && !isOver)) return;
    const take = waiting;
    waiting = undefined;
    take(typed.shift());
  };
  const end = (): void => {
    isOver = true;
    deliver();
  };
  editor.on("line", (line) => {
    typed.push(line);
    deliver();
  });
  editor.on("close", end);
  stopped.addEventListener("abort", end, { once: true });
  return {
    next(prompt) {
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      waiting = resolve;
      if (typed.length === 0 && !isOver) {
        editor.setPrompt(prompt);
        editor.prompt();
      }
      deliver();
      return promise;
    },
    onInterrupt: (heard) => void editor.on("SIGINT", heard),
    redraw() {
      editor.write(null, { ctrl: true, name: "u" });
      editor.prompt();
    },
    end,
    [Symbol.dispose]: () => editor.close(),
  };
}
