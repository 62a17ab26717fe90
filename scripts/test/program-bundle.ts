/** The program as one bundle for the processes that tests start: a start from it takes half the time of one from the sources. */
import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { entrypoints } from "../../src/packaging/notices.ts";
import { pageFiles } from "../../src/server/page-files.ts";
import { bundleLlama, llamaVersions } from "../build/llama-modules.ts";
import { bundlePage } from "../build/plugin.ts";

const root = join(import.meta.dir, "..", "..");

/** Writes it into a folder inside the repository, where packages are found; returns the file to run. */
export async function bundleProgram(folder: string): Promise<string> {
  const [entry = ""] = entrypoints(root);
  const versions = await llamaVersions(root);
  const page = await pageFiles();
  await Bun.build({
    entrypoints: [entry],
    root,
    outdir: folder,
    target: "bun",
    // Compiled beforehand, which takes a fifth off the CPU time of a start; Bun does so for CommonJS only.
    format: "cjs",
    bytecode: true,
    minify: { whitespace: true, syntax: true },
    // They find their libraries beside themselves.
    external: ["@node-llama-cpp/*", "usearch"],
    plugins: [
      {
        name: "sources in place",
        setup(build) {
          bundleLlama(build, versions);
          bundlePage(build, page);
          build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => ({
            contents: inPlace(await readFile(path, "utf8"), path),
            loader: path.endsWith("x") ? "tsx" : "ts",
          }));
          build.onLoad({ filter: /[\\/]unpdf[\\/].*\.mjs$/ }, async ({ path }) => ({
            contents: resolving(await readFile(path, "utf8"), path),
            loader: "js",
          }));
        },
      },
    ],
  });
  // A handbook of a few pages, stored in a moment; tests/starter has all of it.
  for (const page of ["getting-started.md", "keys.md", "page.md", "security.md"]) {
    await Bun.write(join(folder, "docs", page), Bun.file(join(root, "docs", page)));
  }
  return join(folder, relative(root, entry).replace(/\.ts$/, ".js"));
}

/** What a module finds beside itself, it finds beside its source; but main.ts starts the bundle again, and finds the handbook in it. */
function inPlace(source: string, path: string): string {
  const threads = resolving(source, path).replaceAll(
    "import.meta.url",
    JSON.stringify(pathToFileURL(path).href),
  );
  if (basename(path) === "main.ts") return started(threads);
  return threads.replaceAll("import.meta.dir", JSON.stringify(dirname(path)));
}

/** CommonJS has no `import.meta.resolve`. */
const resolving = (source: string, path: string): string =>
  source.replaceAll(
    "import.meta.resolve(",
    `((name) => Bun.pathToFileURL(Bun.resolveSync(name, ${JSON.stringify(dirname(path))})).href)(`,
  );

/** Nor can it wait at its top level; the build fails where anything is left of that. */
const started = (main: string): string =>
  main
    .replaceAll(/\bawait (be(?:Runner|Reader)\(\))/g, "void $1")
    .replace(
      "process.exitCode = await beProgram()",
      "void beProgram().then((code) => { process.exitCode = code; })",
    )
    .replaceAll("import.meta.path", "Bun.main")
    .replaceAll("import.meta.dir", "dirname(Bun.main)");
