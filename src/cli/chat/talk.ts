/** The chat in the terminal: the loop, the conversation, and its slash commands. */
import { writeFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { createInterface } from "node:readline";
import { closest, distance } from "fastest-levenshtein";
import { hasCode, NodeError, reasonOf } from "../../core/errors.ts";
import { createStyle, printable, printableName, type Style } from "../printing.ts";
import type { ChatServer } from "../remote-server.ts";
import { CommandError, type Shell } from "../shell.ts";

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
      if (line.startsWith("/")) {
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

function typedLines({ input, stopped }: Shell) {
  const editor = createInterface({ ...input.terminal(), terminal: true, historySize: 1000 });
  const typed: string[] = [];
  let isOver = false;
  let wake = (): void => {};
  const end = (): void => {
    isOver = true;
    wake();
  };
  editor.on("line", (line) => {
    typed.push(line);
    wake();
  });
  editor.on("close", end);
  stopped.addEventListener("abort", end, { once: true });
  return {
    /** The next line; undefined when there will be none. */
    async next(prompt: string): Promise<string | undefined> {
      if (typed.length === 0 && !isOver) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        editor.setPrompt(prompt);
        editor.prompt();
        await promise;
      }
      return typed.shift();
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

interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

export class Conversation {
  model: string;
  system: string | undefined;
  readonly #turns: Message[] = [];

  constructor(model: string, system: string | undefined) {
    this.model = model;
    this.system = system;
  }

  /** The messages with a question that is not yet part of the conversation. */
  with(question: string): Message[] {
    return [...this.messages(), { role: "user", content: question }];
  }

  messages(): Message[] {
    const { system } = this;
    return [
      ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
      ...this.#turns,
    ];
  }

  /** Adds a question with its answer; a question without one is dropped. */
  keep(question: string, answer: string): void {
    if (answer === "") return;
    this.#turns.push({ role: "user", content: question }, { role: "assistant", content: answer });
  }

  clear(): void {
    this.#turns.length = 0;
  }
}

const titles = { system: "System", user: "You", assistant: "Answer" } as const;

function toMarkdown(model: string, messages: readonly Message[]): string {
  const parts = messages.map(({ role, content }) => `## ${titles[role]}\n\n${content.trim()}`);
  return `${[`# Chat with ${model}`, ...parts].join("\n\n")}\n`;
}

interface ChatContext {
  shell: Pick<Shell, "cwd" | "print" | "paint">;
  server: ChatServer;
  conversation: Conversation;
  style: Style;
  signal: AbortSignal;
}

interface SlashCommand {
  /** What follows its name. */
  takes?: string;
  help: string;
  run(rest: string, context: ChatContext): Promise<void> | void;
}

const commands: Readonly<Record<string, SlashCommand>> = {
  retrieve: { takes: "QUESTION", help: "show the passages that fit a question", run: retrieve },
  model: { takes: "[NAME]", help: "list the models, or go on with another", run: switchModel },
  system: { takes: "[TEXT]", help: "show or set what the model is told first", run: setSystem },
  save: { takes: "FILE", help: "write the conversation as .md or .json", run: save },
  clear: { help: "forget what was said", run: clear },
  help: { help: "this list", run: help },
};

const usageOf = (name: string): string => `/${name} ${commands[name]?.takes ?? ""}`.trimEnd();

const exits = ["/exit", "/quit"];

/** Returns whether the chat continues. */
async function runSlashCommand(line: string, context: ChatContext): Promise<boolean> {
  const [word = "", ...rest] = line.trim().split(/\s+/);
  if (exits.includes(word)) return false;
  const command = Object.hasOwn(commands, word.slice(1)) ? commands[word.slice(1)] : undefined;
  if (command === undefined) {
    const names = [...Object.keys(commands).map((name) => `/${name}`), ...exits];
    const nearest = closest(word, names);
    const guess = distance(word, nearest) <= 2 ? ` Did you mean ${nearest}?` : " /help lists them.";
    throw new CommandError(`There is no command ${word}.${guess}`);
  }
  await command.run(rest.join(" "), context);
  return true;
}

async function retrieve(question: string, { server, shell, style, signal }: ChatContext) {
  if (question === "") throw missing("retrieve");
  const passages = await server.retrieve(question, signal);
  if (passages.length === 0) shell.print("No passage fits well enough.\n");
  for (const { score, place, source } of passages) {
    const where = style.faint(printableName(place));
    shell.paint(`${style.strong(score.toFixed(3))} ${where}
${printable(source)}

`);
  }
}

async function switchModel(name: string, { server, conversation, shell, signal }: ChatContext) {
  const names = await server.chatModels(signal);
  if (name === "") {
    const mark = (known: string): string => (known === conversation.model ? "*" : " ");
    shell.print(names.map((known) => `${mark(known)} ${printableName(known)}\n`).join(""));
    return;
  }
  if (!names.includes(name)) {
    throw new CommandError(`There is no model '${name}'. There are: ${names.join(", ")}.`);
  }
  conversation.model = name;
  shell.print(`Going on with ${name}.\n`);
}

function setSystem(text: string, { conversation, shell }: ChatContext): void {
  if (text === "") shell.print(`${conversation.system ?? "Nothing is said first."}\n`);
  else {
    conversation.system = text;
    shell.print("The model is told so from now on.\n");
  }
}

function clear(_: string, { conversation, shell }: ChatContext): void {
  conversation.clear();
  shell.print("Forgotten.\n");
}

async function save(file: string, { conversation, shell }: ChatContext): Promise<void> {
  if (file === "") throw missing("save");
  const { model } = conversation;
  const messages = conversation.messages();
  const texts: Readonly<Record<string, string>> = {
    ".md": toMarkdown(model, messages),
    ".json": `${JSON.stringify({ model, messages }, null, 2)}\n`,
  };
  const text = texts[extname(file).toLowerCase()];
  if (text === undefined) throw new CommandError(`${file} must end in .md or .json.`);
  try {
    await writeFile(resolve(shell.cwd, file), text, { flag: "wx" });
  } catch (cause) {
    const isThere = hasCode(cause, "EEXIST");
    const why = isThere
      ? "is there already; name another file"
      : `was not written: ${reasonOf(cause)}`;
    throw new CommandError(`${file} ${why}.`, { cause });
  }
  shell.print(`Saved as ${file}.\n`);
}

function help(_: string, { shell }: ChatContext): void {
  const names = Object.keys(commands);
  const width = Math.max(...names.map((name) => usageOf(name).length));
  for (const name of names) {
    shell.print(`${usageOf(name).padEnd(width)}  ${commands[name]?.help}\n`);
  }
  shell.print(`${"/exit".padEnd(width)}  leave; Ctrl-D does too. Ctrl-C stops an answer\n`);
}

const missing = (name: string): NodeError =>
  new CommandError(`Something is missing: ${usageOf(name)}.`);
