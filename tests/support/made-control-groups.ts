/** Control groups as the kernel shows them, made of plain files. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ControlGroupPlaces } from "../../src/engine/machine/machine.ts";
import { tempDir } from "./temp-dir.ts";

/** `membership`: the text of `/proc/self/cgroup`; `files`: texts by their path under the mount. */
export async function madeControlGroups(
  membership: string,
  files: Readonly<Record<string, string>>,
): Promise<{ places: ControlGroupPlaces } & AsyncDisposable> {
  const folder = await tempDir();
  const places = { membership: join(folder.path, "membership"), mount: join(folder.path, "mount") };
  await writeFile(places.membership, membership);
  for (const [path, text] of Object.entries(files)) {
    const file = join(places.mount, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return { places, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}
