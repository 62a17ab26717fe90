/** The folders that the user named: a link may lead anywhere under them, and nowhere else. */
import { realpath } from "node:fs/promises";
import { resolve, sep } from "node:path";

export const globSigns = /[*?[{]/;

/** The folder that a glob begins in: the part before its first wildcard. A path without one is returned as it is. */
export function globBase(path: string): string {
  const sign = path.search(globSigns);
  return sign === -1 ? path : path.slice(0, path.lastIndexOf("/", sign) + 1) || ".";
}

/** The real path of each, or of the folder that a glob begins in; a link that the user named is followed. */
export async function namedRoots(paths: readonly string[], cwd: string): Promise<string[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const named = await realPath(resolve(cwd, path));
      return named ?? (await realPath(resolve(cwd, globBase(path))));
    }),
  );
  return found.filter((root) => root !== undefined);
}

export const isUnder = (roots: readonly string[], path: string): boolean =>
  roots.some(
    (root) => path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`),
  );

/** Where a path leads once all links are followed; undefined where it leads nowhere. */
export const realPath = (path: string): Promise<string | undefined> =>
  realpath(path).catch(() => undefined);
