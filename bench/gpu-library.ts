/** Puts the GPU library that the node uses beside llama-server, so that both run the same kernels. */
import { readdir, symlink } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type TempDir, tempDir } from "../tests/support/temp-dir.ts";
import { isThere, librariesOf } from "./peer-location.ts";

/** A folder of links, which lives as long as its variable. */
export async function withGpuLibrary(folder: string): Promise<TempDir> {
  const together = await tempDir();
  for (const name of await readdir(folder)) {
    await symlink(join(folder, name), join(together.path, name));
  }
  const name = "libggml-cuda.so";
  const library = join(librariesOf(`${platform()}-${arch()}-cuda`), name);
  if ((await isThere(library)) && !(await isThere(join(together.path, name)))) {
    await symlink(library, join(together.path, name));
  }
  return together;
}
