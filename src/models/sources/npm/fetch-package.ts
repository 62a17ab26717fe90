/** Fetches a whole package of the npm registry into a folder of its own, or leaves nothing behind. */
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { NodeError } from "../../../core/errors.ts";
import { cannotBeFetched, type Subject } from "../refusal.ts";
import { readPackage, type TakeOptions, type Unpacking } from "./read-package.ts";
import type { NpmReference } from "./reference.ts";

/** More than any package of libraries has. */
const mostUnpacked = 4e9;

export interface FetchPackageOptions extends Omit<TakeOptions, "source"> {
  /** The folder that the package becomes; one that is there is replaced. */
  folder: string;
}

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
    await readPackage(reference, subject, begin, { ...options, source, mostUnpacked });
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
