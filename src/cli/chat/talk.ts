/** The interactive chat loop in the terminal. */
import { createInterface } from "node:readline";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { createStyle, printable, printableName } from "../printing.ts";
import type { Shell } from "../shell.ts";
import type { ChatServer } from "./chat-server.ts";
import {
  type ChatContext,
  type Conversation,
  isSlashCommand,
  runSlashCommand,
} from "./conversation.ts";

const prompt = "> ";

export async function talk(
  shell: Shell,
  server: ChatServer,
  conversation: Conversation,
): Promise<void> {
  const style = createStyle(shell.hasColour);
  using lines = typedLines(shell);
  let work: AbortController | undefined;
  let isWarned = false;
  lines.onInterrupt(() => {
    if (work !== undefined && !work.signal.aborted) {
      work.abort();
      isWarned = true;
    } else if (isWarned) lines.end();
    else {
      isWarned = true;
      shell.print("\n(Ctrl-C again leaves, and so does /exit.)\n");
      lines.redraw();
    }
  });
  shell.print(
    `Talking with ${printableName(conversation.model)}. /help lists what else can be done.\n`,
  );
  while (!shell.stopped.aborted) {
    const line = await lines.next(style.strong(prompt));
    if (line === undefined) break;
    isWarned = false;
    if (line.trim() === "") continue;
    work = new AbortController();
    const signal = AbortSignal.any([work.signal, shell.stopped]);
    const context: ChatContext = { shell, server, conversation, style, signal };
    try {
      if (isSlashCommand(line)) {
        if (!(await runSlashCommand(line, context))) break;
      } else await answer(line, context);
    } catch (error) {
      shell.paint(`${signal.aborted ? style.faint("(stopped)") : style.bad(sentence(error))}\n`);
    } finally {
      work = undefined;
    }
  }
  shell.print("\n");
}

/** An answer that is stopped stays in the conversation as far as it came. */
async function answer(
  question: string,
  { server, conversation, shell, style, signal }: ChatContext,
): Promise<void> {
  const request = { model: conversation.model, messages: conversation.with(question) };
  let written = "";
  try {
    for await (const { type, text } of server.answer(request, signal)) {
      shell.paint(type === "thought" ? style.faint(text) : printable(text));
      if (type === "text") written += text;
    }
  } finally {
    conversation.keep(question, written);
    shell.print("\n");
  }
}

const sentence = (error: unknown): string =>
  error instanceof NodeError ? error.message : `Something failed: ${reasonOf(error)}`;

/** Line input with editing, history and Ctrl-C. */
function typedLines({ input, stopped }: Shell) {
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
    /** The next line; undefined when there will be none. */
    next(prompt: string): Promise<string | undefined> {
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      waiting = resolve;
      if (typed.length === 0 && !isOver) {
        editor.setPrompt(prompt);
        editor.prompt();
      }
      deliver();
      return promise;
    },
    onInterrupt: (heard: () => void): void => void editor.on("SIGINT", heard),
    /** Shows the prompt again, and clears what was typed. */
    redraw(): void {
      editor.write(null, { ctrl: true, name: "u" });
      editor.prompt();
    },
    /** A pending `next` resolves to undefined. */
    end,
    [Symbol.dispose]: () => editor.close(),
  };
}
