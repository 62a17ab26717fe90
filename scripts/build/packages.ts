/** Finds the folder of a package, fetching it from the registry where it is for another platform. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Target } from "./targets.ts";

const root = join(import.meta.dir, "..", "..");

export async function packageFolder(
  name: string,
  version: string,
  { os, cpu }: Target,
): Promise<string> {
  const installed = join(root, "node_modules", name);
  if (existsSync(join(installed, "package.json"))) return installed;
  const folder = join(root, "dist", ".packages", `${os}-${cpu}`);
  const fetched = join(folder, "node_modules", name);
  if (existsSync(join(fetched, "package.json"))) return fetched;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "fetched", private: true }));
  const adding = Bun.spawn(
    [process.execPath, "add", "--exact", "--os", os, "--cpu", cpu, `${name}@${version}`],
    { cwd: folder, stdout: "ignore", stderr: "inherit" },
  );
  if ((await adding.exited) !== 0 || !existsSync(join(fetched, "package.json"))) {
    throw new Error(`${name}@${version} cannot be fetched for ${os} on ${cpu}.`);
  }
  return fetched;
}
