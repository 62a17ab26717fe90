/** Fetches packages of the npm registry: a whole one into a folder of its own, or single files of one. */
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { NodeError } from "../../../core/errors.ts";
import { cannotBeFetched, type Subject } from "../http-request.ts";
import { checkRoom } from "../partial-file.ts";
import type { NpmReference } from "./download.ts";
import { readPackage, type TakeOptions, type Unpacking } from "./read-package.ts";

/** Bytes that are unpacked at most: of a package of libraries, and of one that holds a model. */
const mostUnpacked = { libraries: 4e9, model: 64 * 2 ** 30 };

export interface FetchPackageOptions extends Omit<TakeOptions, "source"> {
  /** The folder that the package becomes; one that is there is replaced. */
  folder: string;
}

/** Leaves nothing behind where it fails. */
export async function fetchPackage(
  reference: Omit<NpmReference, "file">,
  { folder, ...options }: FetchPackageOptions,
): Promise<void> {
  const source = `${reference.package}@${reference.version}`;
  const subject: Subject = { source, what: "package", hub: options.registry };
  const aside = `${folder}.${crypto.randomUUID()}.part`;
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    const begin = () => everyFile(aside, subject);
    const limits = { source, mostUnpacked: mostUnpacked.libraries };
    await readPackage(reference, subject, begin, { ...options, ...limits });
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function everyFile(folder: string, subject: Subject): Promise<Unpacking> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const empty: string[] = [];
  let file: FileHandle | undefined;
  const begin = async (path: string): Promise<FileHandle> => {
    await mkdir(dirname(path), { recursive: true });
    return await open(path, "wx", 0o644);
  };
  return {
    sinkFor({ name, size }) {
      const path = placeOf(folder, name, subject);
      if (size === 0) empty.push(path);
      let left = size;
      return async (bytes) => {
        file ??= await begin(path);
        await file.writeFile(bytes);
        left -= bytes.length;
        if (left > 0) return;
        await file.sync();
        await file.close();
        file = undefined;
      };
    },
    async finish() {
      for (const path of empty) await (await begin(path)).close();
    },
    [Symbol.asyncDispose]: async () => await file?.close(),
  };
}

/** A path that leads out of the package's folder is refused. */
function placeOf(folder: string, name: string, subject: Subject): string {
  const inner = normalize(name);
  if (inner !== "." && !inner.startsWith("..") && !inner.startsWith(sep))
    return join(folder, inner);
  throw new NodeError(
    "unavailable",
    `${cannotBeFetched(subject)} it holds a file outside of itself: ${name}.`,
  );
}

/** Writes each wanted file of the package to its path; when it returns, all are whole and right. */
export async function takeFiles(
  reference: Omit<NpmReference, "file">,
  wanted: ReadonlyMap<string, string>,
  options: TakeOptions,
): Promise<void> {
  const { source, registry: hub } = options;
  const subject: Subject = { source, hub };
  const begin = () => wantedFiles(wanted, subject);
  await readPackage(reference, subject, begin, { ...options, mostUnpacked: mostUnpacked.model });
}

async function wantedFiles(
  wanted: ReadonlyMap<string, string>,
  subject: Subject,
): Promise<Unpacking> {
  const files = new AsyncDisposableStack();
  const handles = new Map<string, FileHandle>();
  for (const [file, path] of wanted) handles.set(file, files.use(await open(path, "w")));
  const found = new Set<string>();
  return {
    sinkFor({ name, size }) {
      const handle = handles.get(name);
      if (handle === undefined || found.has(name)) return undefined;
      found.add(name);
      let hasRoom = false;
      return async (bytes) => {
        if (!hasRoom) await checkRoom(dirname(wanted.get(name) ?? "."), size, subject.source);
        hasRoom = true;
        await handle.writeFile(bytes);
      };
    },
    async finish() {
      const missing = [...wanted.keys()].find((file) => !found.has(file));
      if (missing === undefined) return;
      throw new NodeError(
        "unavailable",
        `${cannotBeFetched(subject)} the package has no file '${missing}'.`,
      );
    },
    [Symbol.asyncDispose]: () => files.disposeAsync(),
  };
}
