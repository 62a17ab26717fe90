/** Puts the GPU library that the node uses beside llama-server, so that both run the same kernels. */
import { copyFile, readdir, symlink } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join, resolve } from "node:path";
import { findPackage } from "../../src/packaging/gpu-packages.ts";
import { useGpuLibraries } from "../../src/packaging/native-libraries.ts";
import { type TempDir, tempDir } from "../../tests/support/temp-dir.ts";
import { isThere, serverIn } from "./peer-location.ts";

/** A folder that lives as long as its variable: links, and a copy of the program, which looks for libraries where it really lies. */
export async function withGpuLibrary(folder: string): Promise<TempDir> {
  const together = await tempDir();
  for (const name of await readdir(folder)) {
    if (join(folder, name) === serverIn(folder)) continue;
    await symlink(join(resolve(folder), name), join(together.path, name));
  }
  await copyFile(serverIn(folder), serverIn(together.path));
  const name = "libggml-cuda.so";
  const packageName = `${platform()}-${arch()}-cuda`;
  useGpuLibraries(process.env.PADDOCK_GPU_LIBRARIES);
  const library = join(findPackage(packageName)?.bins ?? "", packageName, name);
  if ((await isThere(library)) && !(await isThere(join(together.path, name)))) {
    await symlink(library, join(together.path, name));
  }
  return together;
}
