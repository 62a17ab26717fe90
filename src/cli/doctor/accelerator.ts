/** Whether the machine's accelerator works with each model, by the trial that a start makes, and what to do where not. */
import { resolve } from "node:path";
import { given } from "../../core/given.ts";
import { noLog } from "../../core/log.ts";
import {
  datedReason,
  type EngineBackend,
  loadWithBest,
  type RejectedBackend,
} from "../../core/models/engine-backends.ts";
import { type Device, thisMachine } from "../../engine/accelerator/devices.ts";
import { MachineAccelerators } from "../../engine/accelerator/machine-accelerators.ts";
import { forgetFailures, trialFile } from "../../engine/accelerator/trials.ts";
import { threadBudget } from "../../engine/machine/machine.ts";
import { toMemoryLimit, toModelSpec } from "../../node/node-settings.ts";
import { subjectOf } from "../../runner/protocol.ts";
import { tryBackend } from "../../runner/runner-process.ts";
import { type Finding, note, ok } from "./finding.ts";
import type { Installation } from "./installation.ts";
import type { FoundModel } from "./models.ts";

export interface AcceleratorCheck {
  /** Whether what is known is tried again, and kept. */
  anew: boolean;
  signal: AbortSignal;
}

const check = "accelerator";

export async function checkAccelerator(
  installation: Installation,
  found: readonly FoundModel[],
  options: AcceleratorCheck,
): Promise<Finding[]> {
  const { dataDir, program } = installation;
  const trials = trialFile(dataDir);
  if (options.anew) await forgetFailures(trials);
  const accelerators = new MachineAccelerators({
    place: thisMachine(program.env),
    trials,
    ...gpuLibrariesOf(installation),
    log: noLog,
  });
  const { devices } = accelerators;
  if (devices.length === 0) {
    const none = "There is none that llama.cpp could use; models run on the CPU.";
    return options.anew ? [ok(check, none)] : [];
  }
  if (found.length === 0) return devices.map(({ backend }) => ok(check, `${backend} is there.`));
  const findings: Finding[] = [];
  for (const model of found) {
    findings.push(await checkModel(installation, model, accelerators, options));
  }
  return findings;
}

const gpuLibrariesOf = ({ config, baseDir }: Pick<Installation, "config" | "baseDir">) => {
  const folder = config.engine.gpu_libraries;
  return given({ gpuLibraries: folder && resolve(baseDir, folder) });
};

async function checkModel(
  installation: Installation,
  { model, path }: FoundModel,
  accelerators: MachineAccelerators,
  { anew, signal }: AcceleratorCheck,
): Promise<Finding> {
  const { config, program } = installation;
  const spec = toModelSpec(model, path, toMemoryLimit(config));
  const { keep, ...plan } = await accelerators.planFor(subjectOf(spec));
  const { threads } = await threadBudget(config.engine.threads);
  // Without the option nothing is changed, the results of trials neither.
  const asked = { ...plan, keep: anew ? keep : async () => {} };
  const { backend, rejected } = await loadWithBest(
    asked,
    model.name,
    noLog,
    async (candidate, better) => {
      const isKnown = candidate === "cpu" || (!anew && plan.proven.includes(candidate));
      if (isKnown) return;
      const engine = {
        threads,
        backend: candidate,
        rejected: better,
        ...gpuLibrariesOf(installation),
      };
      const heartbeatTimeoutMs = config.engine.heartbeat_timeout * 1000;
      const trial = { program, name: model.name, engine, spec, heartbeatTimeoutMs, log: noLog };
      await tryBackend(trial, signal);
    },
  );
  return judge(model.name, backend, rejected, accelerators.devices);
}

function judge(
  name: string,
  backend: EngineBackend,
  rejected: readonly RejectedBackend[],
  devices: readonly Device[],
): Finding {
  const better = rejected.filter(({ hasDevice }) => hasDevice);
  const runs = `${name} runs ${backend === "cpu" ? "on the CPU" : `with ${backend}`}`;
  const [first] = better;
  if (first === undefined) return ok(check, `${runs}.`);
  const why = better.map((one) => `not with ${one.backend}: ${datedReason(one)}`).join("; ");
  const driver = devices.find((device) => device.backend === first.backend)?.driver ?? "unknown";
  return note(check, `${runs}, ${why}. Driver: ${driver}.`, adviceFor(first));
}

/** What usually helps. */
function adviceFor({ backend, reason, remedy }: RejectedBackend): string {
  if (reason.startsWith("its libraries")) return `${remedy}.`;
  const again = "'paddock doctor --gpu' then tries it anew.";
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
