/** Finds the files that paths, folders and globs name, and knows what of a collection they stand for. */
import type { Stats } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { Glob } from "bun";
import { reasonOf } from "../core/errors.ts";
import type { SourceDocument } from "./plan-document.ts";
import { readableExtensions } from "./readers/read.ts";

export interface FoundFiles {
  documents: SourceDocument[];
  /** What was named and is not there or cannot be listed. */
  missing: { path: string; reason: string }[];
  /** Files of folders that no reader knows, by their extension. */
  skipped: Map<string, number>;
  /** Whether a document of the collection stands for a file that these paths name, be it there or not. */
  covers: (document: string) => boolean;
}

const globSigns = /[*?[{]/;

/** Names are relative to `cwd` where they lie under it, so that the same file is the same document. */
export async function findFiles(paths: readonly string[], cwd: string): Promise<FoundFiles> {
  const documents = new Map<string, SourceDocument>();
  const missing: FoundFiles["missing"] = [];
  const skipped = new Map<string, number>();
  const scopes: FoundFiles["covers"][] = [];
  const add = (path: string, { size }: Stats): void => {
    const name = documentName(path, cwd);
    documents.set(name, { name, bytes: size, read: () => readFile(path) });
  };
  const addFrom = async (files: AsyncIterable<string> | Iterable<string>): Promise<void> => {
    for await (const file of files) {
      const extension = extname(file).toLowerCase();
      if (readableExtensions.includes(extension)) add(file, await stat(file));
      else skipped.set(extension, (skipped.get(extension) ?? 0) + 1);
    }
  };
  for (const path of paths) {
    const full = resolve(cwd, path);
    const found = await stat(full).catch(() => undefined);
    const name = documentName(full, cwd);
    try {
      if (found?.isDirectory()) {
        const prefix = name === "" ? "" : `${name}/`;
        scopes.push((document) =>
          prefix === "" ? !isAbsolute(document) : document.startsWith(prefix),
        );
        await addFrom(await filesUnder(full));
      } else if (found !== undefined) {
        scopes.push((document) => document === name);
        add(full, found);
      } else if (globSigns.test(path)) {
        const glob = new Glob(name);
        scopes.push((document) => glob.match(document));
        await addFrom(new Glob(path).scan({ cwd, absolute: true, onlyFiles: true }));
      } else {
        scopes.push((document) => document === name || document.startsWith(`${name}/`));
        missing.push({ path, reason: "there is no such file or folder" });
      }
    } catch (error) {
      missing.push({ path, reason: reasonOf(error) });
    }
  }
  return {
    documents: [...documents.values()].sort((a, b) => a.name.localeCompare(b.name)),
    missing,
    skipped,
    covers: (document) => scopes.some((covers) => covers(document)),
  };
}

/** Every file of a folder and its subfolders; what begins with a dot is left alone. */
async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
      .map(async (entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return await filesUnder(path);
        // A link to a file is taken, a link to a folder is not: it may lead back here.
        return entry.isFile() || (await stat(path).catch(() => undefined))?.isFile() ? [path] : [];
      }),
  );
  return found.flat();
}

function documentName(path: string, cwd: string): string {
  const name = relative(cwd, path);
  const outside = name.startsWith("..") || isAbsolute(name);
  return (outside ? path : name).split(sep).join("/");
}
