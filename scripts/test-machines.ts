/**
 * `bun run test:machines [NAME…]`: the suites that can differ, as on other machines: an older CPU, one
 * core, busy neighbours, another language and time zone.
 */
import { cp, link, mkdir, readdir, rm } from "node:fs/promises";
import { arch, availableParallelism } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

interface Machine {
  name: string;
  suites: readonly string[];
  /** Which of llama.cpp's libraries for CPUs there is, where it is not all of them. */
  library?: string;
  /** What comes before the command. */
  before?: readonly string[];
  env?: Record<string, string>;
  /** Whether a program keeps every core busy meanwhile. */
  isBusy?: boolean;
}

const older = arch() === "arm64" ? "armv8.2_1" : "haswell";
const oldest = arch() === "arm64" ? "armv8.0_1" : "sse42";
const machines: readonly Machine[] = [
  { name: "oldest-cpu", library: oldest, suites: ["model", "starter/first-start"] },
  { name: "older-cpu", library: older, suites: ["model", "starter"] },
  { name: "one-core", before: ["taskset", "-c", "0"], suites: ["model", "starter"] },
  { name: "busy", isBusy: true, suites: ["model", "starter/first-start"] },
  {
    name: "elsewhere",
    env: { TZ: "Asia/Kolkata", LC_ALL: "tr_TR.UTF-8" },
    suites: ["unit", "http", "integration", "contract", "model"],
  },
];

const names = process.argv.slice(2);
const unknown = names.find((name) => !machines.some((machine) => machine.name === name));
if (unknown !== undefined) {
  const known = machines.map(({ name }) => name).join(", ");
  console.error(`There is no machine '${unknown}'. There are: ${known}.`);
  process.exit(2);
}

const failed: string[] = [];
for (const machine of machines) {
  if (names.length > 0 && !names.includes(machine.name)) continue;
  console.log(`\n== ${machine.name}: ${machine.suites.join(", ")}`);
  if ((await play(machine)) !== 0) failed.push(machine.name);
}
console.log(failed.length === 0 ? "\nGreen on all of them." : `\nFailed on: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);

async function play(machine: Machine): Promise<number> {
  const { suites, library, before = [], env = {}, isBusy = false } = machine;
  await using resources = new AsyncDisposableStack();
  const cwd = library === undefined ? root : await withLibrary(library, resources);
  if (before[0] !== undefined && Bun.which(before[0]) === null) {
    console.log(`Skipped: ${before[0]} is not installed.`);
    return 0;
  }
  for (let core = 0; isBusy && core < availableParallelism(); core++) {
    const neighbour = Bun.spawn([process.execPath, "--no-orphans", "-e", "for (;;);"]);
    resources.defer(() => neighbour.kill("SIGKILL"));
  }
  const command = [...before, process.execPath, "scripts/test.ts", ...suites];
  return await Bun.spawn(command, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  }).exited;
}

/** The repository in a folder of its own, where llama.cpp finds one library for CPUs alone. */
async function withLibrary(variant: string, resources: AsyncDisposableStack): Promise<string> {
  // Inside the repository, so that all other packages are found from there.
  const folder = join(root, "dist", ".machines", variant);
  await rm(folder, { recursive: true, force: true });
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(folder, { recursive: true });
  for (const name of await readdir(root)) {
    if (["node_modules", "dist", ".git", ".paddock"].includes(name)) continue;
    await cp(join(root, name), join(folder, name), { recursive: true });
  }
  const modules = join("node_modules", "@node-llama-cpp");
  for (const name of await readdir(join(root, modules))) {
    await linkFolder(join(root, modules, name), join(folder, modules, name), (file) => {
      const [, found] = /^libggml-cpu-(.+)\.\w+$/.exec(file) ?? [];
      return found === undefined || found === variant;
    });
  }
  const library = join("node_modules", "node-llama-cpp");
  await linkFolder(join(root, library), join(folder, library));
  return folder;
}

/** A folder whose files are those of another, without a second copy on the disk; of those that are wanted. */
async function linkFolder(
  from: string,
  to: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkFolder(source, target, isWanted);
    else if (isWanted(entry.name)) await link(source, target);
  }
}
