/**
 * The program in a folder of its own, with llama.cpp's libraries for one kind of CPU only, so that it
 * computes as on a machine of that kind. Linux on x64; the CPU must be able to do what that kind can.
 */
import { cp, mkdir, readdir, rm, symlink } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { tempDir } from "../../tests/support/temp-dir.ts";

export interface PlayedCpu extends AsyncDisposable {
  /** The program's file. */
  entry: string;
}

const root = join(import.meta.dir, "..", "..");
const scope = "@node-llama-cpp";
const platformPackage = "linux-x64";
/** What imports the libraries has to lie beside them: a link would find the originals. */
const copied = new Set(["node-llama-cpp", scope]);
const cpuLibrary = /^libggml-cpu-(.+)\.so$/;

export const canPlay = platform() === "linux" && arch() === "x64";

/** `kind`: as llama.cpp names its library, such as `haswell` or `cascadelake`. */
export async function playedCpu(kind: string): Promise<PlayedCpu> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempDir());
  for (const part of ["src", "docs", "package.json", "tsconfig.json"]) {
    await cp(join(root, part), join(path, part), { recursive: true });
  }
  const modules = join(path, "node_modules");
  await mkdir(join(modules, scope), { recursive: true });
  for (const name of await readdir(join(root, "node_modules"))) {
    if (copied.has(name)) continue;
    await symlink(join(root, "node_modules", name), join(modules, name));
  }
  for (const name of ["node-llama-cpp", join(scope, platformPackage)]) {
    await cp(join(root, "node_modules", name), join(modules, name), { recursive: true });
  }
  await leaveOnly(kind, join(modules, scope, platformPackage, "bins", platformPackage));
  const owned = stack.move();
  return {
    entry: join(path, "src", "main.ts"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function leaveOnly(kind: string, folder: string): Promise<void> {
  const libraries = (await readdir(folder)).flatMap((file) => {
    const of = cpuLibrary.exec(file)?.[1];
    return of === undefined ? [] : [{ file, of }];
  });
  if (!libraries.some(({ of }) => of === kind)) {
    const known = libraries.map(({ of }) => of).join(", ");
    throw new Error(`llama.cpp has no library for '${kind}'; it has ${known}`);
  }
  for (const { file, of } of libraries) if (of !== kind) await rm(join(folder, file));
}
