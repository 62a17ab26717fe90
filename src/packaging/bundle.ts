/** Entry points of the program's bundle, and the packages that it and the page include. */
import { join } from "node:path";

/** Folders of the bundled packages. `plugins`: those of the build. */
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
