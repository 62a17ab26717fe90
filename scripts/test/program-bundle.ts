/** The program as one bundle for the processes that tests start: a start from it takes half the time of one from the sources. */
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { entrypoints } from "../../src/packaging/entrypoints.ts";
import { bundleLlama, llamaVersions } from "../build/llama-modules.ts";

const root = join(import.meta.dir, "..", "..");

/** Writes it into a folder inside the repository, where packages are found; returns the file to run. */
export async function bundleProgram(folder: string): Promise<string> {
  const entries = entrypoints(root);
  const versions = await llamaVersions(root);
  await Bun.build({
    entrypoints: entries,
    root,
    outdir: folder,
    target: "bun",
    splitting: true,
    // They find their libraries beside themselves.
    external: ["@node-llama-cpp/*", "usearch"],
    plugins: [
      {
        name: "sources in place",
        setup(build) {
          bundleLlama(build, versions);
          build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => ({
            contents: inPlace(await readFile(path, "utf8"), path),
            loader: path.endsWith("x") ? "tsx" : "ts",
          }));
        },
      },
    ],
  });
  const [entry = ""] = entries;
  return join(folder, relative(root, entry).replace(/\.ts$/, ".js"));
}

/** What a module finds beside itself, it finds beside its source; `import.meta.path` is what is started again, the bundle. */
const inPlace = (source: string, path: string): string =>
  source
    .replaceAll("import.meta.dir", JSON.stringify(dirname(path)))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href));
