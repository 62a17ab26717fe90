/** The folder of models: lists and removes them, and records which source each came from and at which commit. */
import { readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Static, Type as T } from "@sinclair/typebox";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { isLaterPart, madeFromSuffix, partsOf } from "../core/models/model-files.ts";
import { readJsonFile } from "../validation/json-file.ts";
import { sizeOf } from "./files.ts";
import { tryDownloadLock } from "./sources/partial-file.ts";

export const modelsFolder = (dataDir: string): string => join(dataDir, "models");

export async function listModels(
  folder: string,
): Promise<{ models: string[]; unfinished: string[] }> {
  const names = (await readdir(folder).catch(() => [])).sort();
  const whole = new Set(names.filter((name) => /\.gguf$/i.test(name)));
  const isComplete = (name: string): boolean => partsOf(name).every((part) => whole.has(part));
  const begun = names.flatMap((name) => /^(.*\.gguf)\.part$/i.exec(name)?.[1] ?? []);
  const broken = [...whole].filter((name) => !isComplete(name));
  return {
    models: [...whole].filter((name) => !isLaterPart(name) && isComplete(name)),
    unfinished: [...new Set([...begun, ...broken].map((name) => partsOf(name)[0] ?? name))],
  };
}

/** Throws while it is being downloaded, whose file would be there again. */
export async function removeModel(folder: string, file: string): Promise<number> {
  const parts = partsOf(file);
  const origins = await originsOf(join(folder, parts[0] ?? file));
  // Only those of the hub have new files; another's of such a name is a model of its own.
  const hasComing = origins.some((origin) => origin.startsWith("hf:"));
  const files = hasComing ? parts.flatMap((part) => [part, `${comingPrefix}${part}`]) : parts;
  using locks = new DisposableStack();
  for (const name of files) {
    const lock = tryDownloadLock(join(folder, name));
    if (lock === undefined) {
      const why = `${file} is being downloaded. Wait until that has ended, or cancel it, and remove the model then.`;
      throw new NodeError("overloaded", why);
    }
    locks.use(lock).done();
  }
  let freed = 0;
  for (const name of files.flatMap((each) => [each, ...filesBeside(each)])) {
    const path = join(folder, name);
    freed += (await sizeOf(path)) ?? 0;
    await rm(path, { force: true });
  }
  return freed;
}

/** Prefix of new files that replace the old ones once all files of a model are complete. */
export const comingPrefix = "next_";

/** Of the file beside a model with its sources. */
const originSuffix = ".origin.json";

const Note = T.Object({
  source: T.String(),
  /** Other sources that led to the same file. */
  others: T.Optional(T.Array(T.String())),
  file: T.Optional(T.String()),
  commit: T.Optional(T.String()),
});
type Note = Static<typeof Note>;

/** For a file of the hub: its path in the repository, and its commit. */
export interface Pin {
  file?: string;
  commit?: string;
}

/** A URL without query and user info, which may contain a key: keys must not be stored. */
export const withoutKey = (source: string): string =>
  /^https?:/.test(source)
    ? source.replace(/[?#].*$/, "").replace(/^(https?:\/\/)[^/]*@/, "$1")
    : source;

/** Adds a source to a file; sources that were recorded before stay. */
export async function noteOrigin(path: string, source: string, pin: Pin = {}): Promise<void> {
  const [known, named] = [await noteOf(path), withoutKey(source)];
  const others = sourcesOf(known).filter((other) => other !== named);
  const note: Note = { source: named, ...(others.length === 0 ? {} : { others }), ...pin };
  await writeFile(`${path}${originSuffix}`, JSON.stringify(note));
}

export async function forgetSource(path: string, source: string): Promise<void> {
  const note = await noteOf(path);
  const [first, ...others] = sourcesOf(note).filter((other) => other !== withoutKey(source));
  await rm(`${path}${originSuffix}`, { force: true });
  if (first === undefined) return;
  for (const other of [...others, first]) await noteOrigin(path, other, pinOf(note));
}

export interface Origin {
  /** Of the model's first file; the files may not exist. */
  path: string;
  pin: Pin;
}

/** The record of a source whose download is complete or was begun. */
export async function findOrigin(source: string, folder: string): Promise<Origin | undefined> {
  const named = withoutKey(source);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.endsWith(originSuffix)) continue;
    const path = join(folder, basename(name, originSuffix));
    const note = await noteOf(path);
    if (sourcesOf(note).includes(named)) return { path, pin: pinOf(note) };
  }
  return undefined;
}

/** The sources that a file was pulled from, the last first; none if it was not. */
export const originsOf = async (path: string): Promise<string[]> => sourcesOf(await noteOf(path));

export const pinnedAt = async (path: string): Promise<Pin> => pinOf(await noteOf(path));

/** The complete model of a source, found without asking the hub. */
export async function findFetched(source: string, folder: string): Promise<string | undefined> {
  const origin = await findOrigin(source, folder);
  return origin !== undefined && (await isWhole(origin.path)) ? origin.path : undefined;
}

export const isWhole = async (path: string): Promise<boolean> =>
  (await missingOf(partsOf(basename(path)), dirname(path))).length === 0;

const sourcesOf = (note: Note | undefined): string[] =>
  note === undefined ? [] : [note.source, ...(note.others ?? [])].map(withoutKey);

const pinOf = (note: Note | undefined): Pin => given({ file: note?.file, commit: note?.commit });

const noteOf = (path: string): Promise<Note | undefined> =>
  readJsonFile(Note, `${path}${originSuffix}`);

export async function missingOf(files: readonly string[], folder: string): Promise<string[]> {
  const sizes = await Promise.all(files.map((file) => sizeOf(join(folder, file))));
  return files.filter((_, at) => sizes[at] === undefined);
}

/** Files that belong to a model's file, including those of a partial download. */
const filesBeside = (file: string): string[] => [
  `${file}${originSuffix}`,
  `${file}.part`,
  `${file}.part.json`,
  `${file}${madeFromSuffix}`,
];
