/** The pages of the node's handbook, as documents. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SourceDocument } from "./passages.ts";

/** Prefix of the handbook's documents. No file's name begins with it, so the two cannot be confused. */
export const handbookLabel = "paddock:handbook";

export interface HandbookPage {
  name: string;
  path: string;
}

export async function handbookPagesIn(folder: string): Promise<HandbookPage[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
  return names.map((name) => ({ name, path: join(folder, name) }));
}

export async function handbookDocuments(pages: readonly HandbookPage[]): Promise<SourceDocument[]> {
  return await Promise.all(
    pages.map(async ({ name, path }) => {
      const { size: bytes } = await stat(path);
      const read = () => readFile(path);
      return { name: `${handbookLabel}/${name}`, origin: "handbook", bytes, read };
    }),
  );
}
