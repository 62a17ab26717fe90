/**
 * `bun bench/gpu-trial.ts [--prebuilt] [--built libggml-cuda.so]`: what a node makes of a CUDA library
 * that does not suit the driver, and of one that was built on the machine. See README.md beside it.
 */
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findPackage } from "../src/packaging/gpu-packages.ts";
import { useGpuLibraries } from "../src/packaging/native-libraries.ts";
import { ChatCompletion } from "../src/server/operations/chat/schema.ts";
import { NodeInfo } from "../src/server/operations/info/schema.ts";
import { decode } from "../tests/support/decode.ts";
import { runPaddock, type ServingPaddock, servePaddock } from "../tests/support/paddock-process.ts";
import { tempDir } from "../tests/support/temp-dir.ts";
import { tinyModels } from "../tests/support/tiny-models.ts";
import { cacheFolder } from "./cache-folder.ts";
import { killAtExit } from "./kill-at-exit.ts";
import { randomModel } from "./random-weights.ts";

const { values: options } = parseArgs({
  options: {
    /** Tries the library of the package as it is. */
    prebuilt: { type: "boolean", default: false },
    /** A library to put in its place. */
    built: { type: "string" },
    tokens: { type: "string", default: "128" },
  },
});

const packageName = "linux-x64-cuda";
/** The shape of a 1.1B llama: 1.2 GB in Q8_0, written in seconds. */
const shape = { size: 2048, hidden: 5632, layers: 22, heads: 32 };
const tried = "a backend does not work";

useGpuLibraries(process.env.PADDOCK_GPU_LIBRARIES);
const found = findPackage(packageName);
if (found === undefined) {
  throw new Error(
    `${packageName} is not there: PADDOCK_GPU_LIBRARIES names the folder that holds it`,
  );
}
const model = join(cacheFolder, "random-1b.q8_0.gguf");
await randomModel(model, shape);

if (options.prebuilt) await tell("the package's own library", undefined);
if (options.built !== undefined) await tell("a library built on this machine", options.built);

/** Starts a node twice on a data dir of its own, and says what it says. */
async function tell(title: string, library: string | undefined): Promise<void> {
  console.log(`\n## ${title}`);
  await using folder = await tempDir();
  const { embedding } = await tinyModels();
  await writeFile(
    join(folder.path, "paddock.toml"),
    `[vectorstore]
handbook = false
[[models]]
name = "chat"
type = "chat"
source = ${JSON.stringify(model)}
[[models]]
name = "embedding"
type = "embedding"
source = ${JSON.stringify(embedding)}
`,
  );
  const env = { ...environment(), PADDOCK_GPU_LIBRARIES: await libraries(folder.path, library) };
  const place = { cwd: folder.path, env };
  for (const start of ["first start", "second start"]) {
    const startedAt = performance.now();
    await using node = await servePaddock(place);
    killAtExit(node.process);
    const seconds = (performance.now() - startedAt) / 1000;
    const tries = node.stderr().split(tried).length - 1;
    console.log(`${start}: ready after ${seconds.toFixed(1)} s, ${tries} backends given up`);
    for (const line of node.stderr().split("\n")) {
      if (line.includes(tried) || line.includes("an accelerator is not used"))
        console.log(`  ${line}`);
    }
    const info = await decode(NodeInfo, await fetch(`${node.origin}/v1/info`));
    const [first] = info.models;
    console.log(`  ${info.plugin_version}; ${first?.n_gpu_layers} layers on the accelerator`);
    console.log(`  ${(await tokensPerSecond(node)).toFixed(1)} tokens/s, one client`);
    if (start === "second start" && tries > 0) {
      throw new Error("The second start tried again what cannot work.");
    }
  }
  const doctor = await runPaddock(["doctor", "--port", "0"], place);
  console.log(
    doctor.stdout
      .split("\n")
      .filter((line, at, all) => /accelerator/.test(line) || /accelerator/.test(all[at - 1] ?? ""))
      .join("\n"),
  );
  console.log((await runPaddock(["models"], place)).stderr.trim());
}

/** The package's folder with another library in it, for `engine.gpu_libraries`. */
async function libraries(folder: string, library: string | undefined): Promise<string> {
  const home = join(folder, "gpu");
  const target = join(home, packageName);
  await mkdir(target, { recursive: true });
  await cp(join(found?.bins ?? "", ".."), target, { recursive: true });
  if (library !== undefined) {
    await cp(library, join(target, "bins", packageName, "libggml-cuda.so"));
  }
  return home;
}

/** What a driver and the linker read. */
function environment(): Record<string, string> {
  const isRead = (name: string): boolean =>
    /^(LD_LIBRARY_PATH|VK_DRIVER_FILES|CUDA_.*)$/.test(name);
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      isRead(name) && value !== undefined ? [[name, value]] : [],
    ),
  );
}

/** Of one answer without an end token, the first of two not counted. */
async function tokensPerSecond(node: ServingPaddock): Promise<number> {
  let rate = 0;
  for (const tokens of [8, Number(options.tokens)]) {
    const startedAt = performance.now();
    const response = await fetch(`${node.origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "chat",
        messages: [{ role: "user", content: "Tell me about llamas." }],
        max_tokens: tokens,
        logit_bias: { "2": -100 },
      }),
    });
    const { usage } = await decode(ChatCompletion, response);
    rate = (usage.completion_tokens / (performance.now() - startedAt)) * 1000;
  }
  return rate;
}
