/** Everything that can be seen of a folder: names, contents, rights and times. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

export async function folderDigest(path: string): Promise<Record<string, string>> {
  const names = (await readdir(path, { recursive: true })).sort();
  const entries = names.map(async (name): Promise<[string, string]> => {
    const file = join(path, name);
    const { mode, mtimeMs, size } = await stat(file);
    const content = (await stat(file)).isFile() ? Bun.hash(await readFile(file)).toString(16) : "";
    return [name, `${mode.toString(8)} ${mtimeMs} ${size} ${content}`];
  });
  return Object.fromEntries(await Promise.all(entries));
}
