/** Reads the files that ingest takes: Markdown and plain text. */
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { NodeError, reasonOf } from "../core/errors.ts";
import type { Document } from "./pipeline.ts";

const extensions = [".md", ".markdown", ".txt"];

export async function readTextFile(path: string, name = path): Promise<Document> {
  if (!extensions.includes(extname(path).toLowerCase())) {
    throw new NodeError(
      "invalid_request",
      `${path}: only ${extensions.join(", ")} files are read.`,
    );
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
    return { name, text };
  } catch (cause) {
    const reason = cause instanceof TypeError ? "it is not UTF-8 text" : reasonOf(cause);
    throw new NodeError("invalid_request", `${path} cannot be read: ${reason}.`, { cause });
  }
}

/** The Markdown pages of a folder, not of its subfolders, named by their path under `label`. */
export async function readPages(folder: string, label: string): Promise<Document[]> {
  const names = await readdir(folder);
  const pages = names.filter((name) => name.endsWith(".md")).sort();
  return await Promise.all(
    pages.map((name) => readTextFile(join(folder, name), join(label, name))),
  );
}
