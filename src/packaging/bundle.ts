/** A bundle of the program: its entry points, and the packages that it and its page load files from. */
import { join } from "node:path";

/** The packages' folders. `plugins` are those of the build that is asked about. */
export async function bundledPackages(
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
        // Nothing is given back, so that the file is loaded as it would have been.
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

/** The folder of the package that a file belongs to: the innermost one. */
export function packageFolderOf(path: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0];
}

/** What a bundle of the program begins with: the program, and each module that is a thread. */
const modules = [
  "main.ts",
  "parent-watch.ts",
  "store/sqlite/index-thread.ts",
  "store/responses/responses-thread.ts",
  "store/documents/documents-thread.ts",
];

export const entrypoints = (root: string): string[] =>
  modules.map((module) => join(root, "src", module));
