/** `paddock models`: lists configured and downloaded models, and removes them. */
import { basename, dirname, join, resolve } from "node:path";
import { Command } from "commander";
import { byteSize } from "../../core/byte-size.ts";
import { given } from "../../core/given.ts";
import { partsOf } from "../../core/models/model-files.ts";
import { threadBudget } from "../../engine/machine/machine.ts";
import { removeModel } from "../../models/models-folder.ts";
import { addConfigOptions, addExamples, readConfig } from "../command-options.ts";
import { isConfirmed, printedJson, toTable } from "../printing.ts";
import { CommandError, type Shell } from "../shell.ts";
import { backendLines, findModels, type ModelRow, parameterCount, withBackends } from "./rows.ts";

export function modelsCommand(shell: Shell): Command {
  const command = new Command("models").description(
    "list the models that are at hand; remove them",
  );
  command.addCommand(addConfigOptions(list(shell)), { isDefault: true });
  command.addCommand(addConfigOptions(remove(shell)));
  return addExamples(command, "paddock models", "paddock models rm old-model.gguf");
}

async function read(shell: Shell, command: Command) {
  const config = await readConfig(shell, command);
  const { readMachineMemory } = await import("../../engine/machine/machine.ts");
  const machine = await readMachineMemory();
  const { threads } = await threadBudget(config.engine.threads);
  const found = await findModels({ config, baseDir: shell.cwd, machine, threads });
  for (const problem of found.problems) shell.say(`${problem}\n`);
  return { ...found, machine, config };
}

function list(shell: Shell): Command {
  const command = new Command("list")
    .description("the models, with what they are and whether the memory suffices")
    .option("--json", "as JSON");
  addExamples(command, "paddock models list --json");
  return command.action(async () => {
    const { rows: found, unfinished, unused, machine, config } = await read(shell, command);
    const rows = await withBackends(shell, config, found);
    const { memory, availableMemory } = machine;
    const models = rows.map(toJson);
    const result = { models, unfinished, unused, memory, availableMemory };
    if (printedJson(shell, command, result)) return;
    shell.print(toTable(rows.map(toCells)));
    for (const file of unfinished) {
      shell.say(
        `${file} is not whole: pulling it again goes on, 'paddock models rm ${file}' removes it.\n`,
      );
    }
    for (const file of unused) {
      shell.say(
        `${file} was quantized here, and no model is loaded from it any more: 'paddock models rm ${file}' removes it.\n`,
      );
    }
    const bound = machine.memoryBound === "control group" ? " (bound by a control group)" : "";
    shell.say(
      `Memory: ${byteSize(machine.memory)}${bound}, ${byteSize(machine.availableMemory)} free.\n`,
    );
    for (const line of backendLines(rows)) shell.say(`${line}\n`);
  });
}

function toCells({ name, path, facts, template, memory, source, upstream }: ModelRow) {
  const address = upstream && `upstream: ${upstream.urls.join(", ")}`;
  return {
    name,
    type: facts?.kind ?? upstream?.type ?? "",
    file: address ?? (path === undefined ? `not fetched: ${source}` : basename(path)),
    architecture: facts?.architecture ?? "",
    parameters: facts === undefined ? "" : parameterCount(facts.parameters),
    form: facts?.quantization ?? "",
    context: facts === undefined ? "" : `${memory?.contextSize} of ${facts.trainContext}`,
    size: facts === undefined ? "" : byteSize(facts.bytes),
    template: facts?.kind === "chat" ? (template ?? "") : "",
    tools: facts?.kind === "chat" ? (facts.supportsTools ? "yes" : "no") : "",
    memory: memory === undefined ? "" : byteSize(memory.bytes),
    fits: memory?.fits ?? "",
  };
}

const toJson = ({ facts, ...row }: ModelRow): object => {
  const { files, name: ownName, ...rest } = facts ?? { files: [] };
  return { ...row, ...given({ ownName }), files, ...rest };
};

function remove(shell: Shell): Command {
  const command = new Command("rm")
    .description("remove a model's files from the data dir")
    .argument("<model>", "its name or its file")
    .option("--yes", "do not ask");
  addExamples(command, "paddock models rm old-model.gguf --yes");
  return command.action(async (wanted: string) => {
    const { folder, rows, unfinished } = await read(shell, command);
    const row = rows.find(({ name }) => name === wanted);
    if (row?.upstream !== undefined) {
      throw new CommandError(
        `The model '${wanted}' is an upstream model without files here. Remove its section from the configuration instead.`,
      );
    }
    const path =
      row?.path ??
      resolve(folder, basename(wanted) === wanted ? wanted : resolve(shell.cwd, wanted));
    const [first = path] = partsOf(path);
    if (dirname(first) !== folder) {
      throw new CommandError(
        `${first} is not in the models folder (${folder}), so it is not Paddock's to remove.`,
      );
    }
    const file = basename(first);
    const known = [
      ...rows.flatMap((each) => each.path ?? []),
      ...unfinished.map((name) => join(folder, name)),
    ];
    if (!known.includes(first)) {
      throw new CommandError(
        `There is no model '${wanted}' in ${folder}. 'paddock models' lists what there is.`,
      );
    }
    if (!(await isConfirmed(shell, command, `remove the model ${file}`))) return;
    const freed = await removeModel(folder, file);
    shell.print(`Removed ${file}; ${byteSize(freed)} freed.\n`);
    const configured = rows.find((each) => each.configured && each.path === first);
    if (configured === undefined) return;
    shell.say(
      `The configuration names it ('${configured.name}'): a start makes or fetches it again.\n`,
    );
  });
}
