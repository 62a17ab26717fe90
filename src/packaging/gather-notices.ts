/** The licence notices of everything that the program is made of. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { bundledPackages } from "./bundled-packages.ts";
import { licenseText, type Notice, packageNotice, textAt } from "./notice.ts";

export interface GatherOptions {
  /** The repository. */
  root: string;
  /** Folders of packages beside those of the bundle: native libraries, starter models. */
  folders?: readonly string[];
  /** The plugins of the build. */
  plugins?: readonly Bun.BunPlugin[];
}

export async function gatherNotices({
  root,
  folders = [],
  plugins = [],
}: GatherOptions): Promise<Notice[]> {
  const bundled = await bundledPackages(root, plugins);
  const all = [...bundled, ...folders].flatMap((folder) => [folder, ...copiesIn(folder)]);
  const notices = await Promise.all([...new Set(all)].map(packageNotice));
  notices.push(...(await noticesOfNoPackage(root)));
  // Several versions of a package are several notices; several copies of one are not.
  const once = new Map(notices.map((notice) => [`${notice.name} ${notice.version}`, notice]));
  return [...once.values()].sort((a, b) => a.name.localeCompare(b.name));
}

/** The packages of llama.cpp's libraries that are installed. */
export async function installedLibraries(root: string): Promise<string[]> {
  const folder = join(root, "node_modules", "@node-llama-cpp");
  if (!existsSync(folder)) return [];
  return (await readdir(folder)).map((name) => join(folder, name));
}

/** What a package holds of another project, with a description of its own. */
function copiesIn(folder: string): string[] {
  return /[\\/]usearch$/.test(folder) ? [join(folder, "numkong")] : [];
}

/** What comes in no package of its own. scripts/notices.ts writes the texts. */
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
