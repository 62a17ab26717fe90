/** The folder that holds models, collections and keys. What makes it, makes it for its owner alone. */
import { statSync } from "node:fs";
import { platform } from "node:os";
import { resolve } from "node:path";
import type { Config } from "../config/schema.ts";

/** Where it is; `baseDir`: what relative paths start from. */
export const dataDirOf = ({ data_dir: path }: Pick<Config, "data_dir">, baseDir: string): string =>
  resolve(baseDir, path);

/** Its group's, and everyone else's. */
const others = 0o077;
/** Those of everyone: a group may be the node's own. */
export const everyone = 0o007;

/**
 * The rights of a file or a folder, as `chmod` writes them: `755`, where others than its owner have
 * some; else undefined. They are not taken away: what is shared on purpose looks the same.
 */
export function openRightsOf(path: string, whose = others): string | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has other rights, and shows these as if all had them.
  if (platform() === "win32" || (mode & whose) === 0) return undefined;
  return (mode & 0o777).toString(8);
}
