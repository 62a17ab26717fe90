/** Puts the GPU library that the node uses beside llama-server, so that both run the same kernels. */
import { copyFile, readdir, symlink } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join, resolve } from "node:path";
import { type TempDir, tempDir } from "../tests/support/temp-dir.ts";
import { isThere, librariesOf, serverIn } from "./peer-location.ts";

/** A folder that lives as long as its variable: links, and a copy of the program, which looks for libraries where it really lies. */
export async function withGpuLibrary(folder: string): Promise<TempDir> {
  const together = await tempDir();
  for (const name of await readdir(folder)) {
    if (join(folder, name) === serverIn(folder)) continue;
    await symlink(join(resolve(folder), name), join(together.path, name));
  }
  await copyFile(serverIn(folder), serverIn(together.path));
  const name = "libggml-cuda.so";
  const library = join(librariesOf(`${platform()}-${arch()}-cuda`), name);
  if ((await isThere(library)) && !(await isThere(join(together.path, name)))) {
    await symlink(library, join(together.path, name));
  }
  return together;
}
