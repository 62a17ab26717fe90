/** Writes the module that tells the executable what it carries; see src/packaging/executable-contents.ts. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { prepareStarterEmbedding } from "../../src/models/sources/starter.ts";
import { starterChat, starterEmbedding } from "../../src/models/starter-models.ts";

export interface Cargo {
  commit: string;
  llamaRelease: string;
  native: readonly Item[];
  handbook: readonly Item[];
  notices: Item;
  starter: { chat: readonly Item[]; embedding: Item } | undefined;
}

/** A file to put inside, and its path under the folder that it is written to. */
interface Item {
  name: string;
  path: string;
}

export async function filesOf(folder: string, under: string): Promise<Item[]> {
  const names = (await readdir(folder)).sort();
  return names.map((name) => ({ name: `${under}/${name}`, path: join(folder, name) }));
}

/** The chat model in its parts, the embedding model as the file that it becomes. */
export async function starterModels(root: string, folder: string): Promise<Cargo["starter"]> {
  const progress = { step: () => ({ update: () => {}, finish: () => {} }) };
  const { signal } = new AbortController();
  const embedding = await prepareStarterEmbedding({ folder, progress, signal });
  return {
    chat: starterChat.packages.map((name) => ({
      name: `${name}.part`,
      path: join(root, "node_modules", name, "model.part"),
    })),
    embedding: { name: starterEmbedding.file, path: embedding },
  };
}

export async function contentsModule(cargo: Cargo): Promise<string> {
  const imports: string[] = [];
  const carry = async ({ name, path }: Item): Promise<string> => {
    const variable = `file${imports.length}`;
    imports.push(`import ${variable} from ${JSON.stringify(path)} with { type: "file" };`);
    const content = await readFile(path);
    const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
    const fields = JSON.stringify({ name, bytes: content.length, sha256 }).slice(1, -1);
    return `{ ${fields}, path: ${variable} }`;
  };
  const list = async (items: readonly Item[]): Promise<string> => {
    const entries: string[] = [];
    for (const item of items) entries.push(await carry(item));
    return `[${entries.join(",\n")}]`;
  };
  const { commit, llamaRelease, native, handbook, notices, starter } = cargo;
  const fields = [
    `commit: ${JSON.stringify(commit)}`,
    `llamaRelease: ${JSON.stringify(llamaRelease)}`,
    `native: ${await list(native)}`,
    `handbook: ${await list(handbook)}`,
    `notices: ${await carry(notices)}`,
  ];
  if (starter !== undefined) {
    const { chat, embedding } = starter;
    fields.push(`starter: { chat: ${await list(chat)}, embedding: ${await carry(embedding)} }`);
  }
  return `${imports.join("\n")}\nexport const executable = {\n${fields.join(",\n")}\n};\n`;
}
