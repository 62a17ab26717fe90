/** `bun bench:peer`: builds llama-server from the source that node-llama-cpp carries, with the node's own CPU libraries beside it. */
import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { arch, availableParallelism, platform } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { killAtExit } from "./kill-at-exit.ts";
import { isThere, librariesOf, peerFolder, serverIn, sourceFolder } from "./peer-location.ts";

const { values: options } = parseArgs({
  options: { "dry-run": { type: "boolean", default: false } },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const folder = await peerFolder();
if (await isThere(serverIn(folder))) {
  say(`llama-server is there already: ${folder} (remove the folder to rebuild it)`);
  process.exit(0);
}
const reason = await whyNot();
if (reason !== undefined) {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

// What is cloned and compiled stays until all is done, so that an interrupted build goes on.
const workshop = `${folder}.build`;
const [source, build] = [join(workshop, "source"), join(workshop, "build")];
await mkdir(workshop, { recursive: true });
await clone();
await configure();
await compile();
if (!options["dry-run"]) await assemble();

/** What this machine lacks; undefined if nothing. */
async function whyNot(): Promise<string | undefined> {
  const machine = `${platform()}-${arch()}`;
  if (!["linux-x64", "linux-arm64"].includes(machine)) {
    return `llama-server is built on Linux, x64 or Arm; this is ${machine}. 'bun bench' goes on without it.`;
  }
  const missing = [
    ...["git", "cmake"].filter((name) => Bun.which(name) === null),
    ...(["c++", "g++", "clang++"].some((name) => Bun.which(name)) ? [] : ["a C++ compiler"]),
  ];
  if (missing.length > 0) {
    return `Missing: ${missing.join(", ")}. On Debian: apt-get install git cmake g++ ninja-build`;
  }
  if (!(await isThere(librariesOf(machine)))) {
    return `Missing: node-llama-cpp's libraries for ${machine}. 'bun install' brings them.`;
  }
  return undefined;
}

async function clone(): Promise<void> {
  if (await isThere(source)) return;
  say("1/4 Cloning llama.cpp from node-llama-cpp's bundle");
  const partial = `${source}.part`;
  await rm(partial, { recursive: true, force: true });
  await run("git", "clone", "--quiet", join(sourceFolder, "gitRelease.bundle"), partial);
  await rename(partial, source);
}

/** Shared libraries with the CPU's chosen at run time, as node-llama-cpp builds them; nothing from the network. */
async function configure(): Promise<void> {
  say("2/4 Configuring");
  const on = ["GGML_BACKEND_DL", "BUILD_SHARED_LIBS", "CMAKE_BUILD_RPATH_USE_ORIGIN"];
  const off = [
    ...["GGML_NATIVE", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_CURL"],
    ...["LLAMA_OPENSSL", "LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI"],
  ];
  await run(
    ...["cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release"],
    ...(Bun.which("ninja") ? ["-G", "Ninja"] : []),
    ...[...on.map((name) => `-D${name}=ON`), ...off.map((name) => `-D${name}=OFF`)],
  );
}

async function compile(): Promise<void> {
  say("3/4 Compiling; 12 to 20 minutes on 2 cores");
  const jobs = String(availableParallelism());
  const rest = options["dry-run"] ? ["--", "-n"] : [];
  await run("cmake", "--build", build, "--target", "llama-server", "--parallel", jobs, ...rest);
}

/** Program and libraries, whole or not there; its own CPU library makes room for the node's. */
async function assemble(): Promise<void> {
  say("4/4 Putting the node's CPU libraries beside it");
  const partial = `${folder}.part`;
  await rm(partial, { recursive: true, force: true });
  await cp(join(build, "bin"), partial, { recursive: true, verbatimSymlinks: true });
  await rm(join(partial, "libggml-cpu.so"), { force: true });
  const libraries = librariesOf(`${platform()}-${arch()}`);
  for (const name of await readdir(libraries)) {
    if (!name.startsWith("libggml-cpu-")) continue;
    await cp(join(libraries, name), join(partial, name));
  }
  await run(serverIn(partial), "--version");
  await rename(partial, folder);
  await rm(workshop, { recursive: true, force: true });
  say(`llama-server is in ${folder}; 'bun bench' measures against it`);
}

/** Runs a program that shows its own progress. */
async function run(...command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  killAtExit(child);
  const code = await child.exited;
  if (code === 0) return;
  process.stderr.write(`${command.slice(0, 2).join(" ")} ended with ${code}\n`);
  process.exit(1);
}
