/** `bun run build [--target linux-x64] [--with-starter-models] [--outfile dist/paddock]`: the node as one executable. */
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { handbookPagesIn } from "../src/ingest/handbook.ts";
import { entrypoints } from "../src/packaging/notices.ts";
import { pageFiles } from "../src/server/page-files.ts";
import { contentsModule, filesOf, starterModels } from "./build/contents-module.ts";
import { llamaVersions } from "./build/llama-modules.ts";
import { writeNotices } from "./build/notices-file.ts";
import { packageFolder } from "./build/packages.ts";
import { oneFile } from "./build/plugin.ts";
import { findTarget } from "./build/targets.ts";

const root = join(import.meta.dir, "..");

const { values: options } = parseArgs({
  options: {
    target: { type: "string" },
    "with-starter-models": { type: "boolean", default: false },
    outfile: { type: "string" },
  },
});

const target = findTarget(options.target);
const withStarter = options["with-starter-models"];
const isHost = options.target === undefined;
const name = `paddock${isHost ? "" : `-${target.name}`}${withStarter ? "-with-models" : ""}${target.extension}`;
const wanted = options.outfile ?? join(root, "dist", name);
const outfile = wanted.endsWith(target.extension) ? wanted : `${wanted}${target.extension}`;
await mkdir(dirname(outfile), { recursive: true });

const { llamaVersion, llamaRelease } = await llamaVersions(root);
const llama = await packageFolder(`@node-llama-cpp/${target.llama}`, llamaVersion, target);
const startedAt = performance.now();

const inside = { root, page: await pageFiles(), llama: target.llama, llamaVersion, llamaRelease };
const noticesFile = join(root, "dist", ".notices", `${name}.zst`);
const notices = await writeNotices({
  ...inside,
  libraries: llama,
  withStarter,
  file: noticesFile,
});

const contents = await contentsModule({
  commit: await commit(),
  llamaRelease,
  native: [
    ...(await filesOf(join(llama, "bins", target.llama), target.llama)),
    {
      name: "usearch.node",
      path: join(root, "node_modules", "usearch", "prebuilds", target.usearch, "usearch.node"),
    },
  ],
  handbook: await handbookPagesIn(join(root, "docs")),
  notices: { name: "notices.zst", path: noticesFile },
  starter: withStarter ? await starterModels(root, join(root, "dist", ".models")) : undefined,
});

await Bun.build({
  entrypoints: entrypoints(root),
  compile: {
    target: target.bun,
    outfile,
    // What lies in the folder that it is started from is the user's, not the program's.
    autoloadDotenv: false,
    autoloadBunfig: false,
  },
  minify: { whitespace: true, syntax: true },
  // Compiled beforehand as far as it pays: 12 MB more, and a start takes 0.6 of the CPU time.
  bytecode: true,
  bytecodeDepth: 1,
  format: "esm",
  plugins: [oneFile({ ...inside, contents })],
});

const { size } = await stat(outfile);
console.log(
  `${outfile}: ${(size / 1e6).toFixed(1)} MB, made in ${((performance.now() - startedAt) / 1000).toFixed(1)} s; licence notices of ${notices.count} parts in ${(notices.bytes / 1e3).toFixed(0)} kB`,
);

async function commit(): Promise<string> {
  const git = Bun.spawn(["git", "rev-parse", "--short=10", "HEAD"], {
    cwd: root,
    stdout: "pipe",
    stderr: "ignore",
  });
  const text = (await new Response(git.stdout).text()).trim();
  return text === "" ? "unknown" : text;
}
