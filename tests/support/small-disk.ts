/** A disk of a given size that can be filled up and made read-only: a tmpfs, where this user may mount one. */
import { spawnSync } from "bun";
import { skipUnless } from "./skip-reason.ts";
import { type TempDir, tempDir } from "./temp-dir.ts";

export interface SmallDisk extends TempDir {
  /** Nothing can be written from now on, or again; nobody may have a file open to write. */
  setReadOnly(isReadOnly: boolean): void;
  resize(megabytes: number): void;
  /** The same files in another folder, where nobody can change them. */
  readOnlyView(): Promise<TempDir>;
}

const run = (...command: string[]): boolean =>
  spawnSync(command, { stdout: "ignore", stderr: "ignore" }).success;

let mayMount: boolean | undefined;

/** Whether there can be one; says why not. */
export async function canMakeDisks(): Promise<boolean> {
  if (mayMount === undefined) {
    await using folder = await tempDir();
    mayMount =
      run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder.path) &&
      run("umount", folder.path);
    skipUnless(mayMount, "this user may not mount a full or a read-only disk: run as root");
  }
  return mayMount;
}

export async function smallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await tempDir();
  const { path } = folder;
  if (!run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path)) {
    throw new Error("A tmpfs cannot be mounted");
  }
  const remount = (how: string): void => {
    if (!run("mount", "-o", `remount,${how}`, path)) throw new Error(`The disk cannot be ${how}`);
  };
  return {
    path,
    setReadOnly: (isReadOnly) => remount(isReadOnly ? "ro" : "rw"),
    resize: (size) => remount(`size=${size}m`),
    async readOnlyView() {
      const view = await tempDir();
      if (
        !run("mount", "--bind", path, view.path) ||
        !run("mount", "-o", "remount,bind,ro", view.path)
      ) {
        throw new Error("The disk cannot be mounted a second time");
      }
      return {
        path: view.path,
        async [Symbol.asyncDispose]() {
          await unmount(view.path);
          await view[Symbol.asyncDispose]();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await unmount(path);
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A process that was just killed may still hold it. */
async function unmount(path: string): Promise<void> {
  for (let tries = 0; tries < 100 && !run("umount", path); tries++) await Bun.sleep(50);
}
