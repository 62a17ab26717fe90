/** Which packages the program is made of: those that a bundle of it and of its page loads files from. */
import { join } from "node:path";
import { entrypoints } from "./entrypoints.ts";

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
