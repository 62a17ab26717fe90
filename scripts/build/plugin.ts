/** Makes the program one file: what finds files beside itself is told where they are instead. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BunPlugin, PluginBuilder } from "bun";
import { type PageFile, pageFolder } from "../../src/server/page-files.ts";
import { bundleLlama, type LlamaVersions } from "./llama-modules.ts";

export interface PluginOptions extends LlamaVersions {
  root: string;
  /** The module that takes the place of src/packaging/executable-contents.ts. */
  contents: string;
  /** The files of the page for people, made already. */
  page: readonly PageFile[];
  /** The package of the target's own libraries, under @node-llama-cpp/. */
  llama: string;
}

export function oneFile(options: PluginOptions): BunPlugin {
  const { root, contents, page, llama, llamaVersion } = options;
  const libraries = JSON.stringify(source("packaging/native-libraries.ts"));
  const version = JSON.stringify(llamaVersion);
  return {
    name: "one-file",
    setup(build) {
      build.onLoad({ filter: exactly(source("packaging/executable-contents.ts")) }, () => ({
        contents,
        loader: "js",
      }));

      bundlePage(build, page);

      build.onResolve({ filter: /^@node-llama-cpp\// }, ({ path }) => ({
        path,
        namespace: "llama-libraries",
      }));
      build.onLoad({ filter: /.*/, namespace: "llama-libraries" }, ({ path }) => {
        const name = JSON.stringify(path.replace("@node-llama-cpp/", ""));
        const folder = name === JSON.stringify(llama) ? "nativeFolder()" : `gpuLibraries(${name})`;
        return {
          contents: `import { gpuLibraries, nativeFolder } from ${libraries};
            export const getBinsDir = () => ({ binsDir: ${folder}, packageVersion: ${version} });`,
          loader: "js",
        };
      });

      bundleLlama(build, options);

      build.onResolve({ filter: /^usearch$/ }, () => ({
        path: join(root, "node_modules", "usearch", "javascript", "dist", "esm", "usearch.js"),
      }));
      build.onLoad(
        { filter: /usearch[\\/]javascript[\\/]dist[\\/]esm[\\/]usearch\.js$/ },
        async ({ path }) => ({
          contents: loadedWhenUsed(await readFile(path, "utf8"), libraries),
          loader: "js",
        }),
      );
    },
  };
}

/** Puts the files of the page, made already, in the place of the module that makes them. */
export function bundlePage(build: PluginBuilder, page: readonly PageFile[]): void {
  build.onLoad({ filter: exactly(source("server/page-files.ts")) }, () => ({
    contents: `export const pageFolder = ${JSON.stringify(pageFolder)};
      export const pageFiles = async () => (${JSON.stringify(page)});`,
    loader: "js",
  }));
}

/** The path of a module of ours; a module that was moved fails the build, instead of going in as it is. */
const source = (path: string): string => Bun.resolveSync(`../../src/${path}`, import.meta.dir);

const exactly = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`);

/** usearch looks for its addon beside itself as soon as it is imported; here it is where it was written, once it is used. */
function loadedWhenUsed(source: string, libraries: string): string {
  const search = "const compiled = build(getBuildDir(getDirName()));";
  const imports =
    /^import build from "node-gyp-build";|^import \{ getFileName, getRoot \} from "bindings";/gm;
  if (!source.includes(search) || source.match(imports)?.length !== 2) {
    throw new Error("usearch loads its addon in another way than this build knows.");
  }
  return `import { createRequire } from "node:module";
import { nativeFolder } from ${libraries};
let addon;
const compiled = new Proxy({}, {
  get: (_, name) => {
    addon ??= createRequire(import.meta.url)(path.join(nativeFolder(), "usearch.node"));
    return addon[name];
  },
});
${source.replace(search, "").replace(imports, "")}`;
}
