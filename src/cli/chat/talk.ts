/** A chat in the terminal: questions and answers in turn, until the person leaves. */
import type { OpenAiClient } from "../../client/openai-client.ts";
import { NodeError, reasonOf } from "../../core/errors.ts";
import { printable, printableName } from "../printable.ts";
import type { Shell } from "../shell.ts";
import { createStyle } from "../style.ts";
import type { Conversation } from "./conversation.ts";
import { type ChatContext, isSlashCommand, runSlashCommand } from "./slash-commands.ts";
import { typedLines } from "./typed-lines.ts";

const prompt = "> ";

export async function talk(
  shell: Shell,
  client: OpenAiClient,
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
    const context: ChatContext = { shell, client, conversation, style, signal };
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

/** What was written before it was stopped is part of the conversation. */
async function answer(
  question: string,
  { client, conversation, shell, style, signal }: ChatContext,
): Promise<void> {
  const request = { model: conversation.model, messages: conversation.with(question) };
  let written = "";
  try {
    for await (const { type, text } of client.answer(request, signal)) {
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
