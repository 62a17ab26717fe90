/** `paddock run`: pulls a model if it is not there, and talks with it. */
import { Command } from "commander";
import { completeModel } from "../../config/model-schema.ts";
import type { Config } from "../../config/schema.ts";
import { isRemote } from "../../models/sources/download.ts";
import { addConfigOptions, addExamples, readConfig } from "../command-options.ts";
import { pull, servedName } from "../pull.ts";
import { type ChatServer, findRunningNode } from "../remote-server.ts";
import { CommandError, type Shell } from "../shell.ts";
import { answerOnce, chosenModel, localNode, readQuestion } from "./command.ts";
import { Conversation, talk } from "./talk.ts";

export function runCommand(shell: Shell): Command {
  const command = addConfigOptions(
    new Command("run")
      .description("talk with a model, which is fetched first if it is not there")
      .argument("<model>", "the name of a model that is there, or a source, as for 'paddock pull'")
      .argument("[prompt...]", "what to answer; default: a conversation, or what comes from a pipe")
      .option("--system <text>", "what the model is told first"),
  );
  addExamples(
    command,
    "paddock run hf:owner/repo:Q4_K_M",
    'paddock run hf:owner/repo:Q4_K_M "Say hello in French."',
  );
  return command.action(async (wanted: string, words: string[]) => {
    const { system } = command.opts<{ system?: string }>();
    const config = await readConfig(shell, command);
    const question = await questionIn(shell, words);
    await using resources = new AsyncDisposableStack();
    const running = await findRunningNode(shell, config);
    const { name, local } = await found(shell, command, wanted, config);
    const server: ChatServer =
      running?.server ?? resources.use(await localNode(shell, local)).server;
    const conversation = new Conversation(await chosenModel(server, name, shell.stopped), system);
    if (question === undefined) await talk(shell, server, conversation);
    else await answerOnce(shell, server, conversation, question);
  });
}

async function questionIn(shell: Shell, words: readonly string[]): Promise<string | undefined> {
  if (words.length > 0) return words.join(" ");
  return shell.input.isTerminal ? undefined : await readQuestion(shell);
}

interface FoundModel {
  name: string;
  /** For a node of this command's own. */
  local: Config;
}

/** Text that is not a source is the name of a model that is there. */
async function found(
  shell: Shell,
  command: Command,
  wanted: string,
  config: Config,
): Promise<FoundModel> {
  const { models, models_folder: folder } = config;
  const isServed = folder.serve !== "none" || config.engine.isolation === "none";
  const serving: Config = isServed
    ? config
    : { ...config, models_folder: { ...folder, serve: "all" } };
  const isFile = /\.gguf$/i.test(wanted);
  if (!isRemote(wanted) && !isFile) return { name: wanted, local: serving };
  const pulled = await pull(shell, command, wanted, { renew: false });
  if (pulled.facts.kind !== "chat") {
    throw new CommandError(
      `${wanted} is a model of type '${pulled.facts.kind}', which does not chat.`,
    );
  }
  const name = await servedName(shell, serving, pulled);
  if (name !== undefined) return { name, local: serving };
  const own = completeModel({ name: wanted, type: "chat", source: pulled.path });
  return {
    name: wanted,
    local: { ...config, models: [own, ...models.filter(({ type }) => type !== "chat")] },
  };
}
