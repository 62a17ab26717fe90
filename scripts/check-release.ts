/**
 * Runs an executable as a stranger would: in an empty folder, with an empty environment, as an
 * unprivileged user and without a network where this machine allows it.
 * `bun scripts/check-release.ts [dist/paddock] [--starter dist/paddock-with-models]`
 */
import { chmod, chown, copyFile, mkdir, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { tempDir } from "../tests/support/temp-dir.ts";
import { tinyModels } from "../tests/support/tiny-models.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { starter: { type: "string" } },
});
const program = resolve(positionals[0] ?? "dist/paddock");
const nobody = 65534;
const isRoot = process.getuid?.() === 0;
const problems: string[] = [];

const prefix = await isolation();
console.log(
  prefix.length === 0
    ? "Not isolated: neither another user nor a network of its own can be had here."
    : `Isolated by ${prefix.filter((word) => /^(unshare|setpriv)$/.test(word)).join(" and ")}.`,
);
const { size } = await stat(program);
console.log(`${program}: ${(size / 1e6).toFixed(1)} MB`);
check("is at most 170 MB", size <= 170e6);
await checkCommands(program);
await checkNode(program, await tinyConfig(), ["tiny-chat", "tiny-embedding"]);
if (options.starter !== undefined) {
  await checkNode(resolve(options.starter), undefined, [
    "TinyLlama-1.1B-Chat-v1.0",
    "all-MiniLM-L6-v2",
  ]);
}
if (problems.length > 0) {
  console.error(`\n${problems.length} of the checks failed: ${problems.join("; ")}`);
  process.exit(1);
}
console.log("\nAll checks passed.");

function check(what: string, holds: boolean): void {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  if (!holds) problems.push(what);
}

/** What puts a command under another user and into a network namespace of its own. */
async function isolation(): Promise<string[]> {
  if (!isRoot) return [];
  const wanted = [
    // A network of its own, in which there is loopback and nothing else.
    ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"],
    ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"],
  ];
  const possible: string[] = [];
  for (const command of wanted) {
    try {
      const tried = Bun.spawn([...possible, ...command, "true"], { stderr: "ignore" });
      if ((await tried.exited) === 0) possible.push(...command);
    } catch {
      // Not on this machine.
    }
  }
  return possible;
}

async function emptyFolder(executable: string) {
  const folder = await tempDir();
  const copy = join(folder.path, "paddock");
  await copyFile(executable, copy);
  await chmod(copy, 0o755);
  const own = join(folder.path, "empty");
  await mkdir(own);
  if (isRoot) for (const path of [folder.path, own]) await chown(path, nobody, nobody);
  return { ...folder, copy, own };
}

async function run(copy: string, cwd: string, ...args: string[]) {
  const startedAt = performance.now();
  const child = Bun.spawn([...prefix, copy, ...args], {
    cwd,
    env: { HOME: cwd },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, code, ms: performance.now() - startedAt };
}

async function checkCommands(executable: string): Promise<void> {
  await using folder = await emptyFolder(executable);
  const version = await run(folder.copy, folder.own, "--version");
  const form = /^\d+\.\d+\.\d+ \(commit \w+, llama\.cpp v[\d.]+\)\n$/;
  check("says its version, commit and llama.cpp build", form.test(version.stdout));
  check("says nothing else", version.stderr === "" && version.code === 0);
  console.log(`     --version took ${version.ms.toFixed(0)} ms`);
  const help = await run(folder.copy, folder.own, "--help");
  check("has help", help.code === 0 && help.stdout.includes("ingest"));
  const unknown = await run(folder.copy, folder.own, "sevre");
  check("exits with 2 for an unknown command", unknown.code === 2);
  const models = await run(folder.copy, folder.own, "serve", "--port", "0");
  check("says that it carries no models", models.stderr.includes("carries no starter models"));
}

async function tinyConfig(): Promise<string> {
  const { chat, embedding } = await tinyModels();
  return `[[models]]\nname = "tiny-chat"\ntype = "chat"\nsource = "${chat}"\nctx_size = 2048\n[[models]]\nname = "tiny-embedding"\ntype = "embedding"\nsource = "${embedding}"\n`;
}

/** Starts the node and has the same isolation ask it, since its network is its own. */
async function checkNode(
  executable: string,
  config: string | undefined,
  [chat, embedding]: readonly [string, string],
): Promise<void> {
  await using folder = await emptyFolder(executable);
  console.log(`\n${executable}`);
  if (config !== undefined) {
    await makeReadable();
    await writeFile(join(folder.own, "paddock.toml"), config);
  }
  // One shell: the node and what asks it are in the same network namespace.
  const questions = join(import.meta.dir, "check-release-questions.ts");
  const child = Bun.spawn(
    [...prefix, process.execPath, questions, folder.copy, folder.own, chat, embedding],
    { cwd: folder.own, env: { HOME: folder.own }, stdout: "pipe", stderr: "inherit" },
  );
  const output = await new Response(child.stdout).text();
  for (const line of output.trim().split("\n")) {
    const [, holds, what = line] = /^(ok|FAIL) (.*)$/.exec(line) ?? [];
    if (holds === undefined) console.log(`     ${line}`);
    else check(what, holds === "ok");
  }
  if ((await child.exited) !== 0) check("the questions could be asked", false);
}

/** The tiny models lie in a folder of the user who runs this. */
async function makeReadable(): Promise<void> {
  const { chat } = await tinyModels();
  await chmod(join(chat, ".."), 0o755);
}
