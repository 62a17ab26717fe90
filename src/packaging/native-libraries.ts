/** Locates native libraries: in installed packages, or unpacked from the executable. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { NodeError, reasonOf } from "../core/errors.ts";
import { executable, type PackedFile } from "./executable-contents.ts";

export interface ProgramFolders {
  cacheFolder: string;
  user: number | undefined;
  programFolder: string;
}

let folders: ProgramFolders | undefined;
let folder: string | undefined;
let gpuFolder: string | undefined;

/** Sets the program's folders. Nothing is unpacked before a library is needed. */
export function setProgramFolders(given: ProgramFolders): void {
  folders = given;
}

/** For threads, which have their own copy of this module. */
export const programFolders = (): ProgramFolders | undefined => folders;

/** Sets a folder with packages of GPU libraries, which is searched first. */
export function useGpuLibraries(path: string | undefined): void {
  gpuFolder = path;
}

/** The folder of the unpacked libraries; undefined if they are in installed packages. */
export function nativeFolder(): string | undefined {
  if (executable === undefined || folders === undefined) return undefined;
  const { cacheFolder, user } = folders;
  folder ??= unpack({ files: executable.native, folder: cacheFolder, user });
  return folder;
}

/** Where `paddock pull gpu` puts packages with GPU libraries. */
export function pulledFolder(): string | undefined {
  const cacheFolder = folders?.cacheFolder;
  return cacheFolder === undefined ? undefined : join(cacheFolder, "gpu");
}

/** The `bins` folder of a GPU package: as configured, beside the program, or pulled. */
export function gpuLibraries(name: string): string | undefined {
  const searched = [gpuFolder, folders?.programFolder, pulledFolder()].filter(
    (path) => path !== undefined,
  );
  return searched
    .flatMap((path) => [join(path, name, "bins"), join(path, "@node-llama-cpp", name, "bins")])
    .find((path) => existsSync(path));
}

export interface CacheSystem {
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  home: string;
}

/** The folder to unpack to: `PADDOCK_CACHE_DIR`, else one in the platform's cache folder. */
export function cacheFolder({ env, platform, home }: CacheSystem): string {
  const given = env.PADDOCK_CACHE_DIR;
  if (given !== undefined && given !== "") return given;
  if (platform === "win32") {
    return join(env.LOCALAPPDATA ?? join(home, "AppData", "Local"), "paddock", "cache");
  }
  if (platform === "darwin") return join(home, "Library", "Caches", "paddock");
  const xdg = env.XDG_CACHE_HOME;
  // The XDG specification says that a relative path is invalid.
  return join(xdg?.startsWith("/") === true ? xdg : join(home, ".cache"), "paddock");
}

const prefix = "native-";
const ownerOnly = 0o700;

export interface UnpackOptions {
  files: readonly PackedFile[];
  folder: string;
  /** The user id of the process; undefined on platforms without one. */
  user: number | undefined;
}

/** Unpacks files atomically into an owner-only folder named by digest; checks them each time. */
export function unpack({ files, folder, user }: UnpackOptions): string {
  const target = join(folder, `${prefix}${idOf(files)}`);
  try {
    if (!isWhole(target, files)) write(target, files);
    checkOwner(target, user);
    removeOthers(folder, target);
    return target;
  } catch (cause) {
    throw new NodeError(
      "unavailable",
      `The program's own libraries cannot be unpacked into ${folder}: ${reasonOf(cause)}. Make the folder writable, free some disk, or name another with PADDOCK_CACHE_DIR.`,
      { cause },
    );
  }
}

/** The name of the folder: a digest of the files, so that another build has another folder. */
function idOf(files: readonly PackedFile[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { name, sha256 } of files) hash.update(`${name} ${sha256}\n`);
  return hash.digest("hex").slice(0, 16);
}

function isWhole(folder: string, files: readonly PackedFile[]): boolean {
  return files.every(({ name, bytes, sha256 }) => {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isFile() === true && found.size === bytes && digestOf(path) === sha256;
  });
}

const digestOf = (path: string): string =>
  new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");

/** Writes to a temporary folder and renames it. Of two processes, the second finds it. */
function write(target: string, files: readonly PackedFile[]): void {
  const aside = `${target}.${crypto.randomUUID()}.part`;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: ownerOnly });
    mkdirSync(aside, { mode: ownerOnly });
    for (const { name, path } of files) {
      const file = join(aside, name);
      mkdirSync(dirname(file), { recursive: true, mode: ownerOnly });
      // Not synced: a file that a crash left incomplete is found by its digest.
      writeFileSync(file, readFileSync(path), { flag: "wx", mode: ownerOnly });
      chmodSync(file, ownerOnly);
    }
    if (!isWhole(aside, files)) throw new Error("what was written is not what was to be written");
    // A folder that exists but is not whole was damaged, and is replaced.
    if (existsSync(target) && !isWhole(target, files)) {
      renameSync(target, `${aside}.old`);
    }
    renameSync(aside, target);
  } catch (error) {
    if (!isWhole(target, files)) throw error;
  } finally {
    rmSync(aside, { recursive: true, force: true });
    rmSync(`${aside}.old`, { recursive: true, force: true });
  }
}

/** Libraries that another user could replace must not be loaded. */
function checkOwner(folder: string, user: number | undefined): void {
  if (user === undefined) return;
  const { uid, mode } = lstatSync(folder);
  if (uid !== user) throw new Error("it belongs to another user");
  if ((mode & 0o077) !== 0) chmodSync(folder, ownerOnly);
}

/** Removes folders of other versions, and temporary ones of killed processes. */
function removeOthers(folder: string, target: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!name.startsWith(prefix) || path === target || isBeingWritten(path)) continue;
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // On Windows, files in use cannot be removed; a later start removes them.
    }
  }
}

const abandonedAfterMs = 10 * 60 * 1000;

function isBeingWritten(path: string): boolean {
  if (!path.includes(".part")) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs < abandonedAfterMs;
}
