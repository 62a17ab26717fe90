/** `paddock init`: writes a commented configuration file that fits this machine. */
import { availableParallelism, totalmem } from "node:os";
import { basename, resolve } from "node:path";
import { Command } from "commander";
import { loadConfig } from "../config/load.ts";
import type { ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { configTemplate, nodeKeys, valueAt } from "../config/settings.ts";
import { given } from "../core/given.ts";
import { threadBudget } from "../engine/machine/machine.ts";
import { readFacts } from "../engine/machine/model-memory.ts";
import { executable } from "../packaging/executable-contents.ts";
import { addExamples, addSettingOptions, defaultFile, settingFlags } from "./command-options.ts";
import { CommandError, type Shell } from "./shell.ts";
import { writeAside } from "./write-aside.ts";

/** The keys that users look for first. */
const alwaysSet = ["host", "port", "data_dir"];

export function initCommand(shell: Shell): Command {
  const command = addSettingOptions(
    new Command("init")
      .description("write a commented configuration file that fits this machine")
      .option("--config <file>", "where to write it", defaultFile)
      .option("--model <file>", "a GGUF file to serve in place of the starter model of its kind")
      .option("--force", "write over a file that is there")
      .option("--stdout", "print it, and write nothing"),
  );
  addExamples(
    command,
    "paddock init",
    "paddock init --model ./my-model.gguf --port 9000",
    "paddock init --stdout > /etc/paddock/paddock.toml",
  );
  return command.action(async () => {
    const options = command.opts<{ config: string; model?: string; force?: true; stdout?: true }>();
    const { config: name, model, force = false, stdout } = options;
    const text = await fittedTemplate(shell, model, settingFlags(command));
    if (stdout === true) {
      shell.print(text);
      return;
    }
    const otherwise = ". Say --force to write over it, or --stdout to only see the new one.";
    const path = resolve(shell.cwd, name);
    await writeAside(
      { path, shown: name, ...given({ otherwise: force ? undefined : otherwise }) },
      [text],
    );
    shell.print(
      `Wrote ${name}. 'paddock doctor' checks what it says, 'paddock serve' starts the node.\n`,
    );
  });
}

async function fittedTemplate(
  shell: Shell,
  model: string | undefined,
  flags: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  // Without the environment, which overrides the file anyway and may contain keys.
  const config = loadConfig({ env: {}, flags });
  const values = new Map(alwaysSet.map((key) => [key, valueAt(config, [key])]));
  values.set("engine.threads", (await threadBudget(config.engine.threads)).threads);
  for (const { path, flag } of nodeKeys()) {
    if (flag !== undefined && flags[flag] !== undefined) {
      values.set(path.join("."), valueAt(config, path));
    }
  }
  // A model that is pulled is served at once, as it would be without this file.
  values.set("models_folder.serve", flags["serve-models"] ?? "all");
  const own = model === undefined ? undefined : await readModel(shell.cwd, model);
  if (own?.type === "reranker") values.set("retrieval.reranker", own.name);
  const memory = (totalmem() / 1e9).toFixed(1);
  return configTemplate({
    heading: [
      `Paddock's configuration, written by 'paddock init' for a machine with ${availableParallelism()} cores and ${memory} GB of memory.`,
      "Keys behind a # have the value that stands there anyway; take the # away to change one.",
      "Variables of the environment go over this file, and options of the command line over both.",
    ],
    values,
    models: modelsFor(config, own),
  });
}

type GivenModel = Pick<ModelConfig, "name" | "type" | "source">;

async function readModel(cwd: string, source: string): Promise<GivenModel> {
  const { kind } = await readFacts(resolve(cwd, source));
  return { name: basename(source).replace(/\.gguf$/i, ""), type: kind, source };
}

/** The starter models and a configured reranker; one of the user's own replaces the one of its type. */
function modelsFor({ models }: Config, own: GivenModel | undefined): GivenModel[] {
  const hasStarters = executable === undefined || executable.starter !== undefined;
  const others = models
    .filter(({ type }) => type !== own?.type)
    .filter(({ source }) => hasStarters || !source.startsWith("starter:"))
    .map(({ name, type, source }) => ({ name, type, source }));
  const all = own === undefined ? others : [own, ...others];
  if (all.length > 0) return all;
  throw new CommandError(
    "This executable carries no starter models. Name a GGUF file to serve: --model ./my-model.gguf.",
  );
}
