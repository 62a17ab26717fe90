/** The folder that holds models, collections and keys. What makes it, makes it for its owner alone. */
import { statSync } from "node:fs";
import { platform } from "node:os";
import { resolve } from "node:path";
import type { Config } from "../config/schema.ts";

/** Where it is; `baseDir`: what relative paths start from. */
export const dataDirOf = ({ data_dir: path }: Pick<Config, "data_dir">, baseDir: string): string =>
  resolve(baseDir, path);

const others = 0o077;

/**
 * The rights that others than its owner have to it, as `chmod` writes them: `755`; undefined where
 * they have none. It is not taken from them: a folder that is shared on purpose looks the same.
 */
export function openRightsOf(path: string): string | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has other rights, and shows these as if all had them.
  if (platform() === "win32" || (mode & others) === 0) return undefined;
  return (mode & 0o777).toString(8);
}
