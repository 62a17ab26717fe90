/** The pages of the node's own handbook, as documents. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SourceDocument } from "./plan-document.ts";

/** What the names of the handbook's documents begin with. */
export const handbookLabel = "handbook";

/** The Markdown pages of a folder, not of its subfolders, named by their path under `label`. */
export async function readPages(folder: string, label: string): Promise<SourceDocument[]> {
  const names = await readdir(folder);
  const pages = names.filter((name) => name.endsWith(".md")).sort();
  return await Promise.all(
    pages.map(async (name) => {
      const path = join(folder, name);
      const { size: bytes } = await stat(path);
      return { name: `${label}/${name}`, bytes, read: () => readFile(path) };
    }),
  );
}
