/** Checks llama.cpp, the accelerator with each model, the data dir and its disk, the uploads and the clock. */
import { constants, existsSync } from "node:fs";
import { access, lstat, readdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { byteSize } from "../../core/byte-size.ts";
import { noLog } from "../../core/log.ts";
import {
  datedReason,
  type EngineBackend,
  loadWithBest,
  type RejectedBackend,
} from "../../core/models/engine-backends.ts";
import {
  forgetFailures,
  type MachineAccelerators,
  trialFile,
} from "../../engine/accelerator/machine-accelerators.ts";
import { threadBudget } from "../../engine/machine/machine.ts";
import { starterChat } from "../../models/starter-models.ts";
import { inspectDocuments } from "../../node/documents/node-documents.ts";
import { acceleratorsOf, engineSettings } from "../../node/models/model-hosts.ts";
import { openRightsOf, toModelSpec } from "../../node/node-settings.ts";
import { subjectOf } from "../../runner/protocol.ts";
import { tryBackend } from "../../runner/runner-process.ts";
import { inspectIds } from "../../store/database.ts";
import { documentsFile } from "../../store/documents/sqlite-documents.ts";
import { keysFile } from "../../store/keys/sqlite-keys.ts";
import { responsesFile } from "../../store/responses/sqlite-responses.ts";
import { exitOf, lastLine, tailOf } from "../../subprocess/program.ts";
import { probeName } from "../internal-commands.ts";
import { type Finding, type Installation, note, ok, problem } from "./finding.ts";
import type { FoundModel } from "./models.ts";

/** In a separate process, since it may crash. */
export async function checkEngine({ config, program }: Installation): Promise<Finding> {
  const { threads } = config.engine;
  const child = Bun.spawn([...program.command, probeName, "--threads", String(threads)], {
    env: program.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [printed, said] = await Promise.all([
    new Response(child.stdout).text(),
    tailOf(child.stderr),
    child.exited,
  ]);
  if (child.signalCode !== null || child.exitCode !== 0) {
    return problem(
      `llama.cpp does not load: its process ended with ${exitOf(child)}. ${lastLine(said)}`.trim(),
      "Run 'bun install' again, or take the executable for this platform.",
    );
  }
  const answer: Record<string, unknown> = JSON.parse(lastLine(printed));
  const { version, threads: found, why } = answer;
  const loads = `${version} loads, with ${found} ${found === 1 ? "thread" : "threads"} (${why}).`;
  return threads > Number(found)
    ? note(loads, `Set [engine] threads = ${found}, or 0 for as many as there are.`)
    : ok(loads);
}

interface AcceleratorCheck {
  /** Whether to discard earlier results, try everything, and save the results. */
  retry: boolean;
  signal: AbortSignal;
}

/** Runs the same trial as a start. */
export async function checkAccelerator(
  installation: Installation,
  found: readonly FoundModel[],
  options: AcceleratorCheck,
): Promise<Finding[]> {
  if (options.retry) await forgetFailures(trialFile(installation.dataDir));
  const accelerators = acceleratorsOf({ ...installation, log: noLog });
  const { devices } = accelerators;
  if (devices.length === 0) {
    const none = "There is none that llama.cpp could use; models run on the CPU.";
    return options.retry ? [ok(none)] : [];
  }
  if (found.length === 0) return devices.map(({ backend }) => ok(`${backend} is there.`));
  const findings: Finding[] = [];
  for (const model of found) {
    findings.push(await checkModel(installation, model, accelerators, options));
  }
  return findings;
}

async function checkModel(
  installation: Installation,
  { model, path }: FoundModel,
  accelerators: MachineAccelerators,
  { retry, signal }: AcceleratorCheck,
): Promise<Finding> {
  const { config, program } = installation;
  const spec = toModelSpec(model, path, installation);
  const { keep, ...plan } = await accelerators.planFor(subjectOf(spec));
  const { threads } = await threadBudget(config.engine.threads);
  // Without the option nothing is changed, not even the saved results.
  const asked = { ...plan, keep: retry ? keep : async () => {} };
  const { name } = model;
  const tried = async (backend: EngineBackend, rejected: readonly RejectedBackend[]) => {
    if (backend === "cpu" || (!retry && plan.proven.includes(backend))) return;
    const engine = { ...engineSettings(installation), threads, backend, rejected };
    const heartbeatTimeoutMs = config.engine.heartbeat_timeout * 1000;
    await tryBackend({ program, name, engine, spec, heartbeatTimeoutMs, log: noLog }, signal);
  };
  const { backend, rejected } = await loadWithBest(asked, name, noLog, tried);
  const better = rejected.filter(({ hasDevice }) => hasDevice);
  const runs = `${name} runs ${backend === "cpu" ? "on the CPU" : `with ${backend}`}`;
  const [first] = better;
  if (first === undefined) return ok(`${runs}.`);
  const why = better.map((one) => `not with ${one.backend}: ${datedReason(one)}`).join("; ");
  const device = accelerators.devices.find((each) => each.backend === first.backend);
  return note(`${runs}, ${why}. Driver: ${device?.driver ?? "unknown"}.`, adviceFor(first));
}

function adviceFor({ backend, reason, remedy }: RejectedBackend): string {
  if (reason.startsWith("its libraries")) return `${remedy}.`;
  const again = "Then 'paddock doctor --gpu' tries it again.";
  if (backend === "cuda" && reason.startsWith("its library ")) {
    return `Install CUDA's own libraries, libcudart and libcublas (NVIDIA's package cuda-libraries-13-0, or of CUDA 12), or take 'paddock pull gpu:vulkan'. ${again}`;
  }
  if (backend === "cuda") {
    return `NVIDIA's driver is probably older than the CUDA that the library was built with: update the driver, take 'paddock pull gpu:vulkan', or build the library on this machine (the page about models). ${again}`;
  }
  if (backend === "vulkan") {
    return `Update the driver of the device (its maker's, or the package mesa-vulkan-drivers) and the loader (libvulkan1). ${again}`;
  }
  return `Set n_gpu_layers = 0 to stay on the CPU. ${again}`;
}

export async function checkDataDir({ dataDir, config }: Installation): Promise<Finding> {
  const place = nearestFolder(dataDir);
  if (!(await stat(place)).isDirectory()) {
    return problem(`${place} is not a folder.`, "Set data_dir to a folder, or move the file.");
  }
  try {
    await access(place, constants.W_OK | constants.X_OK);
  } catch {
    return problem(
      `This user may not write into ${place}.`,
      `Give the node's user the folder (chown), or set data_dir to another.`,
    );
  }
  if (place !== dataDir) return ok(`${config.data_dir} is made at the first start, in ${place}.`);
  const rights = openRightsOf(dataDir);
  return rights === undefined
    ? ok(`${dataDir} can be written, and entered by its owner only.`)
    : note(
        `Others on this machine can enter ${dataDir} (its rights are ${rights}).`,
        `Unless it is shared on purpose: chmod 700 ${dataDir}`,
      );
}

export async function checkKeysFile({ dataDir }: Installation): Promise<Finding> {
  const path = join(dataDir, keysFile);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined && (await lstat(path).catch(() => undefined)) !== undefined) {
    return problem(
      `${path} is a link to no file, and no node starts with it.`,
      "Mount the disk that it leads to, or restore the keys from a backup.",
    );
  }
  if (found === undefined) return ok("No key was given out.");
  return (found.mode & 0o077) === 0
    ? ok(`${keysFile} can be read by its owner only.`)
    : problem(`Others than its owner can read or write ${path}.`, `chmod 600 ${path}*`);
}

/** Most lost uploads to name. */
const mostNamed = 5;

export async function checkDocuments({ dataDir }: Pick<Installation, "dataDir">): Promise<Finding> {
  const { stored, orphaned, known, missing } = await inspectDocuments(dataDir);
  const path = join(dataDir, documentsFile);
  const restore = `Restore ${path} from a backup`;
  const recover = "stop the node and run 'paddock documents recover'";
  if (known instanceof Error) {
    const message = `${path}, which says what was uploaded, cannot be read: ${known.message}.`;
    return problem(message, `${restore}, or move it away, ${recover}.`);
  }
  if (known === undefined && stored > 0) {
    const message = `There are ${stored} uploads in ${dataDir}, and no ${documentsFile} that knows them.`;
    return problem(message, `${restore}, or ${recover}.`);
  }
  if (missing.length > 0) {
    const named = missing.slice(0, mostNamed).join(", ");
    const message = `${missing.length} of ${known} uploads that ${documentsFile} knows are not in files of ${dataDir}: ${named}${missing.length > mostNamed ? " …" : ""}.`;
    const remedy =
      "Mount or move the folder back, restore it from a backup, or delete these files.";
    return problem(message, remedy);
  }
  if (orphaned > 0) {
    const message = `${orphaned} uploads that ${documentsFile} does not know are in files/orphaned of ${dataDir}.`;
    return note(message, `${restore}, or ${recover}; or delete them.`);
  }
  return ok(`${known ?? 0} uploads are known, and none is lost.`);
}

export async function checkResponses({ dataDir }: Pick<Installation, "dataDir">): Promise<Finding> {
  const path = join(dataDir, responsesFile);
  const stored = inspectIds(path, "responses");
  if (!(stored instanceof Error)) return ok(`${stored?.length ?? 0} responses are stored.`);
  const message = `${path}, which has the stored responses, cannot be read: ${stored.message}.`;
  return problem(message, "Restore it from a backup, or move it away, and a new one is made.");
}

/** The starter chat model's file and its quantized copy, 0.93 GB together, and room to write. */
const starterRoom = 1.6e9;
const leastRoom = 200e6;

export async function checkDisk({ dataDir, config }: Installation): Promise<Finding> {
  const place = nearestFolder(dataDir);
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const makesStarter =
    config.models.some(({ source }) => source === "starter:chat") &&
    !existsSync(join(dataDir, "models", starterChat.file));
  const wanted = makesStarter ? starterRoom : leastRoom;
  const words = `${byteSize(free)} are free in ${place}`;
  return free >= wanted
    ? ok(`${words}.`)
    : problem(
        `${words}, and ${byteSize(wanted)} are needed.`,
        "Make room, or set data_dir to a larger disk.",
      );
}

/** About when this program was written: an earlier clock is wrong. */
const notBefore = Date.UTC(2026, 0, 1);
const mostAheadMs = 5 * 60_000;

export async function checkClock({ dataDir }: Installation): Promise<Finding> {
  const now = Date.now();
  const words = `It is ${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const remedy = "Set the clock: keys end by it, and certificates are judged by it.";
  if (now < notBefore) return problem(`${words}, which is past.`, remedy);
  const names = await readdir(dataDir).catch(() => []);
  const files = await Promise.all(
    names.map((name) => stat(join(dataDir, name)).catch(() => undefined)),
  );
  const latest = Math.max(0, ...files.map((file) => file?.mtimeMs ?? 0));
  return latest > now + mostAheadMs
    ? note(`${words}, but files of the data dir are from later.`, remedy)
    : ok(`${words}.`);
}

/** The folder itself, or its nearest existing parent. */
function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
