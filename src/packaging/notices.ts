/** The licence notices of everything in the program, and the entry points of its bundle. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** `folders`: packages besides those of the bundle, such as native libraries and starter models. */
export async function gatherNotices(
  root: string,
  folders: readonly string[],
  plugins: readonly Bun.BunPlugin[] = [],
): Promise<Notice[]> {
  const bundled = await bundledPackages(root, plugins);
  const all = [...bundled, ...folders].flatMap((folder) => [folder, ...copiesIn(folder)]);
  const notices = await Promise.all([...new Set(all)].map(packageNotice));
  notices.push(...(await noticesOfNoPackage(root)));
  // Several versions of a package are several notices; several copies of one are not.
  const once = new Map(notices.map((notice) => [`${notice.name} ${notice.version}`, notice]));
  return [...once.values()].sort((a, b) => a.name.localeCompare(b.name));
}

export async function installedLibraries(root: string): Promise<string[]> {
  const folder = join(root, "node_modules", "@node-llama-cpp");
  if (!existsSync(folder)) return [];
  return (await readdir(folder)).map((name) => join(folder, name));
}

/** Copies of other projects inside a package, with their own package.json. */
function copiesIn(folder: string): string[] {
  return /[\\/]usearch$/.test(folder) ? [join(folder, "numkong")] : [];
}

/** Projects without a package. scripts/notices.ts writes the texts. */
async function noticesOfNoPackage(root: string): Promise<Notice[]> {
  const described = async (...path: string[]): Promise<unknown> =>
    JSON.parse(await readFile(join(root, "node_modules", ...path), "utf8"));
  const llama = await described("node-llama-cpp", "llama", "binariesGithubRelease.json");
  const unpdf = await described("unpdf", "package.json");
  const text = (name: string) => licenseText(join(import.meta.dir, "notices", name));
  return [
    {
      name: "Bun",
      version: Bun.version,
      license: "MIT, with libraries under LGPL-2 and others",
      text: await text("bun.md"),
    },
    {
      name: "llama.cpp",
      version: textAt(llama, "release"),
      license: "MIT, with libraries under BSD-2-Clause and others",
      text: await text("llama.cpp.txt"),
    },
    {
      name: "PDF.js (in unpdf)",
      version: textAt(unpdf, "devDependencies", "pdfjs-dist").replace(/^[~^]/, ""),
      license: "Apache-2.0",
      text: await text("pdf.js.txt"),
    },
  ];
}

export interface Notice {
  name: string;
  version: string;
  /** As declared, usually an SPDX expression. Empty if none is declared. */
  license: string;
  /** The licence with its notices; empty if there is no file. */
  text: string;
}

/** `LICENSE`, `LICENCE.md`, `COPYING`, `NOTICE`, and `bundle.js.LICENSE.txt` for a bundle. */
const licenseFile = /^(?:.+\.)?(?:licen[cs]e|copying|notice)(?:[.-][a-z0-9-]+)*$/i;
const isCode = /\.(?:[cm]?[jt]sx?|json|map)$/i;

export async function packageNotice(folder: string): Promise<Notice> {
  const described: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && licenseFile.test(entry.name) && !isCode.test(entry.name))
    .map(({ name }) => name)
    .sort();
  const texts = await Promise.all(files.map((file) => licenseText(join(folder, file))));
  return {
    name: textAt(described, "name"),
    version: textAt(described, "version"),
    license: declaredLicense(described),
    text: [...new Set(texts)].join("\n\n"),
  };
}

async function licenseText(path: string): Promise<string> {
  const text = await readFile(path, "utf8");
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?|\f/g, "\n")
    .replace(/^\n+|\s+$/g, "");
}

/** The `license` field, or the older forms. */
function declaredLicense(described: unknown): string {
  const several = valueAt(described, "licenses");
  const each = Array.isArray(several) ? several : [];
  return (
    textAt(described, "license") ||
    textAt(described, "license", "type") ||
    each.map((one) => textAt(one, "type")).join(" OR ")
  );
}

function textAt(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

const valueAt = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => new Map(Object.entries(Object(at))).get(name), value);

const level = 19;

/** For the executable: one compressed file, since most texts repeat each other. */
export function packNotices(notices: readonly Notice[]): Uint8Array {
  return Bun.zstdCompressSync(JSON.stringify(notices), { level });
}

export async function unpackNotices(path: string): Promise<readonly Notice[]> {
  return JSON.parse(Bun.zstdDecompressSync(await readFile(path)).toString("utf8"));
}

/** Folders of the bundled packages. `plugins`: those of the build. */
async function bundledPackages(
  root: string,
  plugins: readonly Bun.BunPlugin[] = [],
): Promise<string[]> {
  const folders = new Set<string>();
  const watch: Bun.BunPlugin = {
    name: "watch-packages",
    setup(build) {
      build.onLoad({ filter: /[\\/]node_modules[\\/]/ }, ({ path }) => {
        const folder = packageFolderOf(path);
        if (folder !== undefined) folders.add(folder);
        // Returns nothing, so that the file is loaded as usual.
        return undefined;
      });
    },
  };
  await Bun.build({
    entrypoints: entrypoints(root),
    target: "bun",
    // Libraries for other platforms are not installed.
    external: ["@node-llama-cpp/*"],
    plugins: [watch, ...plugins],
  });
  await Bun.build({
    entrypoints: [join(root, "src", "web", "index.html")],
    target: "browser",
    plugins: [watch],
  });
  return [...folders].sort();
}

export function packageFolderOf(path: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0];
}

/** The program, and each module that runs as a thread. */
const modules = ["main.ts", "parent-watch.ts", "store/thread.ts"];

export const entrypoints = (root: string): string[] =>
  modules.map((module) => join(root, "src", module));
