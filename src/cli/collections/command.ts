/** `paddock collections`: lists, counts, exports, imports, copies and drops collections. */
import { Command } from "commander";
import { reasonOf } from "../../core/errors.ts";
import type { CollectionStore } from "../../core/ports/passage-repository.ts";
import { addConfigOptions, addExamples } from "../command-options.ts";
import { isConfirmed, printableJson, printedJson, toTable } from "../printing.ts";
import type { Shell } from "../shell.ts";
import { copy } from "./copy.ts";
import { existing, exportTo, importFrom, withCollectionStore } from "./transfer.ts";

export function collectionsCommand(shell: Shell): Command {
  const command = new Command("collections").description(
    "list, count, export, import, copy and drop collections",
  );
  for (const make of [list, count, exportTo, importFrom, copy, drop]) {
    command.addCommand(addConfigOptions(make(shell)));
  }
  return addExamples(
    command,
    "paddock collections list",
    "paddock collections export notes --output notes.jsonl",
    "paddock collections copy notes --to http://127.0.0.1:6333",
  );
}

function list(shell: Shell): Command {
  const command = new Command("list")
    .description("the collections, with what they hold")
    .option("--json", "as JSON");
  addExamples(command, "paddock collections list --json");
  return command.action(() =>
    withCollectionStore(shell, command, async ({ store }) => {
      const rows: CollectionRow[] = [];
      const problems: string[] = [];
      for (const name of await store.list()) {
        try {
          rows.push(await toRow(store, name));
        } catch (error) {
          problems.push(reasonOf(error));
        }
      }
      for (const problem of problems) shell.say(`${problem}\n`);
      if (printedJson(shell, command, rows)) return;
      if (rows.length + problems.length === 0) {
        shell.say("There is no collection yet; 'paddock ingest PATH' makes one.\n");
      } else shell.print(toTable(rows.map((row) => ({ ...row, model: row.model ?? "not known" }))));
    }),
  );
}

type CollectionRow = Awaited<ReturnType<typeof toRow>>;

async function toRow(store: CollectionStore, name: string) {
  await using repository = await existing(store, name);
  const { dimension, distance, url, embedding } = await repository.describe();
  const documents = await repository.documents();
  return {
    name,
    passages: await repository.count(),
    documents: documents.length,
    dimension,
    distance,
    model: embedding?.model ?? null,
    url,
  };
}

function count(shell: Shell): Command {
  const command = new Command("count")
    .description("how many passages a collection has")
    .argument("[name]", "default: the configured one")
    .option("--json", "as JSON");
  addExamples(command, "paddock collections count notes");
  return command.action((name: string | undefined) =>
    withCollectionStore(shell, command, async ({ config, store }) => {
      const wanted = name ?? config.vectorstore.collection_name;
      await using repository = await existing(store, wanted);
      const passages = await repository.count();
      const isJson = command.opts().json === true;
      shell.print(`${isJson ? printableJson({ name: wanted, passages }) : passages}\n`);
    }),
  );
}

function drop(shell: Shell): Command {
  const command = new Command("drop")
    .description("remove a collection with all that it holds")
    .argument("<name>", "which one")
    .option("--yes", "do not ask");
  addExamples(command, "paddock collections drop notes --yes");
  return command.action((name: string) =>
    withCollectionStore(shell, command, async ({ store }) => {
      let passages = 0;
      {
        await using repository = await existing(store, name);
        passages = await repository.count();
      }
      const whole = `the collection '${name}' with its ${passages} passages`;
      if (!(await isConfirmed(shell, command, `remove ${whole}`))) return;
      await store.drop(name);
      shell.print(`Removed ${whole}.\n`);
    }),
  );
}
