/** What a machine with an NVIDIA driver and libraries for it looks like to the program, with a library that a test makes. */
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };
import { skipUnless } from "./skip-reason.ts";

const own = join(
  import.meta.dir,
  "..",
  "..",
  "node_modules",
  "@node-llama-cpp",
  "linux-x64",
  "bins",
);

/** Whether this machine's libraries can be made to look so; where they cannot, that is said. */
export const canLookLikeCuda = !skipUnless(
  process.platform === "linux" && process.arch === "x64",
  "a machine with an NVIDIA driver is played on Linux x64 only",
);

/**
 * The variables that make it so, in a folder: the driver's library where the linker is told to look,
 * and the CPU's libraries under CUDA's name, with `libggml-cuda.so` beside them.
 */
export async function cudaMachine(
  folder: string,
  makeLibrary: (path: string) => Promise<unknown>,
): Promise<Record<string, string>> {
  const driver = join(folder, "driver");
  await mkdir(driver);
  await writeFile(join(driver, "libcuda.so.1"), "a driver");
  const name = "linux-x64-cuda";
  const home = join(folder, "gpu", name);
  const bins = join(home, "bins", name);
  await cp(join(own, "linux-x64"), bins, { recursive: true });
  const version = dependencies["node-llama-cpp"];
  await writeFile(join(home, "package.json"), JSON.stringify({ name, version }));
  await makeLibrary(join(bins, "libggml-cuda.so"));
  return { LD_LIBRARY_PATH: driver, PADDOCK_GPU_LIBRARIES: join(folder, "gpu") };
}
