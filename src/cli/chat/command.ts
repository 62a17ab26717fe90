/** `paddock chat`: a conversation in the terminal, or one question from a pipe. */
import { Command } from "commander";
import type { Config } from "../../config/schema.ts";
import { addConfigOptions, addExamples, readConfig } from "../command-options.ts";
import { ChatServer } from "../remote-server.ts";
import { CommandError, type Shell } from "../shell.ts";
import { Conversation, talk } from "./talk.ts";

export function chatCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("chat")
      .description("talk with a model in the terminal, or have one question from a pipe answered")
      .option(
        "--url <address>",
        "a server of the OpenAI API; its key is PADDOCK_KEY's. Default: the configured models, in this process",
      )
      .option("--model <name>", "whom to talk with; default: the first that can")
      .option("--system <text>", "what the model is told first"),
  );
  addExamples(
    command,
    "paddock chat",
    "paddock chat --url http://127.0.0.1:8080",
    'echo "Say hello in French." | paddock chat',
  );
  return command.action(async () => {
    const flags = command.opts<{ url?: string; model?: string; system?: string }>();
    const { url, model, system } = flags;
    const question = shell.input.isTerminal ? undefined : await readQuestion(shell);
    await using resources = new AsyncDisposableStack();
    const server =
      url === undefined
        ? resources.use(await localNode(shell, await readConfig(shell, command))).server
        : new ChatServer({ url, key: shell.env.PADDOCK_KEY || undefined });
    const name = await chosenModel(server, model, shell.stopped);
    const conversation = new Conversation(name, system);
    if (question === undefined) await talk(shell, server, conversation);
    else await answerOnce(shell, server, conversation, question);
  });
}

export async function chosenModel(
  server: ChatServer,
  wanted: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const names = await server.chatModels(signal);
  if (wanted !== undefined && names.includes(wanted)) return wanted;
  const [first] = names;
  if (wanted === undefined && first !== undefined) return first;
  throw new CommandError(
    first === undefined
      ? "There is no model to chat with."
      : `There is no model '${wanted}' to chat with. There are: ${names.join(", ")}.`,
  );
}

export async function readQuestion({ input }: Shell): Promise<string> {
  const bytes = Buffer.concat(await Array.fromAsync(input.stream()));
  const question = bytes.toString("utf8").trim();
  if (question !== "") return question;
  throw new CommandError(
    "There is no question on standard input. Write one into the pipe, or run 'paddock chat' in a terminal.",
  );
}

/** Prints the answer alone, for scripts. */
export async function answerOnce(
  shell: Shell,
  server: ChatServer,
  conversation: Conversation,
  question: string,
): Promise<void> {
  const request = { model: conversation.model, messages: conversation.with(question) };
  for await (const { type, text } of server.answer(request, shell.stopped)) {
    if (type === "text") shell.print(text);
  }
  shell.print("\n");
}

/** Imported on demand: a chat with another server does not need these libraries. */
export async function localNode(shell: Shell, config: Config) {
  const { startLocalNode } = await import("../serve/serve-node.ts");
  return await startLocalNode(shell, config);
}
