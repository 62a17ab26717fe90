/** Checks that llama.cpp loads, and that the accelerator works with each model. */
import { noLog } from "../../core/log.ts";
import {
  datedReason,
  type EngineBackend,
  loadWithBest,
  type RejectedBackend,
} from "../../core/models/engine-backends.ts";
import type { Device } from "../../engine/accelerator/devices.ts";
import {
  forgetFailures,
  type MachineAccelerators,
  trialFile,
} from "../../engine/accelerator/machine-accelerators.ts";
import { threadBudget } from "../../engine/machine/machine.ts";
import { acceleratorsOf, engineSettings } from "../../node/models/model-hosts.ts";
import { toMemoryLimit, toModelSpec } from "../../node/node-settings.ts";
import { subjectOf } from "../../runner/protocol.ts";
import { tryBackend } from "../../runner/runner-process.ts";
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
  return engineFinding(JSON.parse(lastLine(printed)), threads);
}

function engineFinding(
  { version, threads, why }: Record<string, unknown>,
  wanted: number,
): Finding {
  const found = `${version} loads, with ${threads} ${threads === 1 ? "thread" : "threads"} (${why}).`;
  if (wanted > Number(threads)) {
    return note(found, `Set [engine] threads = ${threads}, or 0 for as many as there are.`);
  }
  return ok(found);
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
  const spec = toModelSpec(model, path, toMemoryLimit(config));
  const { keep, ...plan } = await accelerators.planFor(subjectOf(spec));
  const { threads } = await threadBudget(config.engine.threads);
  // Without the option nothing is changed, not even the saved results.
  const asked = { ...plan, keep: retry ? keep : async () => {} };
  const { backend, rejected } = await loadWithBest(
    asked,
    model.name,
    noLog,
    async (candidate, better) => {
      const isKnown = candidate === "cpu" || (!retry && plan.proven.includes(candidate));
      if (isKnown) return;
      const engine = {
        ...engineSettings(installation),
        ...{ threads, backend: candidate, rejected: better },
      };
      const heartbeatTimeoutMs = config.engine.heartbeat_timeout * 1000;
      const trial = { program, name: model.name, engine, spec, heartbeatTimeoutMs, log: noLog };
      await tryBackend(trial, signal);
    },
  );
  return acceleratorFinding(model.name, backend, rejected, accelerators.devices);
}

function acceleratorFinding(
  name: string,
  backend: EngineBackend,
  rejected: readonly RejectedBackend[],
  devices: readonly Device[],
): Finding {
  const better = rejected.filter(({ hasDevice }) => hasDevice);
  const runs = `${name} runs ${backend === "cpu" ? "on the CPU" : `with ${backend}`}`;
  const [first] = better;
  if (first === undefined) return ok(`${runs}.`);
  const why = better.map((one) => `not with ${one.backend}: ${datedReason(one)}`).join("; ");
  const driver = devices.find((device) => device.backend === first.backend)?.driver ?? "unknown";
  return note(`${runs}, ${why}. Driver: ${driver}.`, adviceFor(first));
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
