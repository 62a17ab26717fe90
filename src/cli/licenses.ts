/** `paddock licenses`: prints the licence notices of everything in the program. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { starterChat, starterEmbedding } from "../models/starter-models.ts";
import { executable } from "../packaging/executable-contents.ts";
import {
  gatherNotices,
  installedLibraries,
  type Notice,
  unpackNotices,
} from "../packaging/notices.ts";
import { addExamples } from "./command-options.ts";
import { toTable } from "./printing.ts";
import type { Shell } from "./shell.ts";

const rule = "=".repeat(80);

export function licensesCommand(shell: Shell): Command {
  const command = new Command("licenses")
    .description("print the licences of everything that the program is made of")
    .option("--summary", "one line for each: name, version and licence");
  addExamples(command, "paddock licenses --summary", "paddock licenses > LICENSES.txt");
  return command.action(async () => {
    const notices = await programNotices();
    if (command.opts().summary === true) shell.print(toTable(notices.map(toRow)));
    else await shell.printAll(texts(notices));
  });
}

/** From the executable itself, or in a clone from the installed packages. */
async function programNotices(): Promise<readonly Notice[]> {
  if (executable !== undefined) return await unpackNotices(executable.notices.path);
  const root = join(import.meta.dir, "..", "..");
  const models = [...starterChat.packages, starterEmbedding.package]
    .map((name) => join(root, "node_modules", name))
    .filter((folder) => existsSync(folder));
  return await gatherNotices(root, [...(await installedLibraries(root)), ...models]);
}

const toRow = ({ name, version, license }: Notice) => ({
  name,
  version,
  license: license === "" ? "(none declared)" : license,
});

async function* texts(notices: readonly Notice[]): AsyncGenerator<string> {
  for (const notice of notices) {
    const { name, version, license } = toRow(notice);
    const text =
      notice.text === ""
        ? "The package has no licence file. This is the licence that it declares."
        : notice.text;
    yield `${rule}\n${name} ${version}\nLicence: ${license}\n${rule}\n\n${text}\n\n`;
  }
}
