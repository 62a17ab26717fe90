/** `bun bench:gpu`: the chat rows on a machine with a GPU, on weights of random numbers. See bench/README.md. */
import { availableParallelism, cpus } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { chosenParts, commonOptions, count } from "./measuring/options.ts";
import { Report } from "./measuring/report.ts";
import { chatModelRows } from "./rows/chat-model-rows.ts";
import { embeddingRows } from "./rows/embedding-rows.ts";
import { cacheFolder } from "./servers/cache-folder.ts";
import { withGpuLibrary } from "./servers/gpu-library.ts";
import { findPeer } from "./servers/peer-location.ts";
import { randomEmbeddingModel, randomModel, type Shape } from "./servers/random-weights.ts";

/** Vocabulary 32,000, context 4096. */
const shapes: Record<string, Shape> = {
  "7b": { size: 4096, hidden: 11_008, layers: 32, heads: 32 },
  "1b": { size: 2048, hidden: 5632, layers: 22, heads: 32 },
  /** For a try without a GPU. */
  small: { size: 288, hidden: 768, layers: 6, heads: 6 },
};

/** That of bge-base; context 512. */
const embeddingShape: Shape = { size: 768, hidden: 3072, layers: 12, heads: 12 };

/** More than any model has: all of them are placed on the GPU. */
const everyLayer = 999;

const { values: options } = parseArgs({
  options: {
    ...commonOptions,
    shape: { type: "string", default: "7b" },
    model: { type: "string" },
    server: { type: "string" },
    slots: { type: "string", default: "16" },
    "ctx-size": { type: "string", default: "4096" },
    tokens: { type: "string", default: "128" },
  },
});
const runs = count("runs", options.runs);
const slots = count("slots", options.slots);
const tokens = count("tokens", options.tokens);
const chatRows = ["clients", "beside", "long", "temperature"] as const;
const chosen = chosenParts([...chatRows, "embedding"], options.only);
const parts = new Set(chatRows.filter((part) => chosen.has(part)));

const report = new Report();
const gpu = await nameOfGpu();
const machine = `${gpu ?? "no GPU"}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores`;
report.say(`${machine}; ${runs} runs each`);

await using stack = new AsyncDisposableStack();
const built = options.server ?? (await findPeer((text) => report.say(text)));
const folder = built && stack.use(await withGpuLibrary(built)).path;
const peer = folder && { peer: { folder, arguments: ["--n-gpu-layers", everyLayer] } };
const environment = passedOn("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PADDOCK_GPU_LIBRARIES");
const { path, name } = await chatModelFile();
await chatModelRows({
  ...{ report, runs, name, path, parts, slots, environment, ...peer },
  contextSize: count("ctx-size", options["ctx-size"]),
  gpuLayers: everyLayer,
  clients: {
    tokens,
    targets: [
      [1, "0.99"],
      [4, "1.0"],
      [8, "1.0"],
      [16, "1.0"],
      [32, "1.0"],
    ],
  },
  beside: { tokens: 4 * tokens, target: "1.2" },
  long: [
    { clients: 1, promptTokens: 1500, target: "1.0" },
    { clients: 4, promptTokens: 40, target: "1.0" },
    { clients: 8, promptTokens: 1500, of: "slowest", target: "1.0" },
  ],
  temperature: { tokens: 2 * tokens },
});
if (chosen.has("embedding")) {
  const embedder = join(cacheFolder, "random-bge-base.q8_0.gguf");
  await randomEmbeddingModel(embedder, embeddingShape);
  await embeddingRows({
    ...{ report, runs, threads: availableParallelism(), path: embedder, environment, ...peer },
    gpuLayers: everyLayer,
    cases: [
      {
        ...{ work: "bge-base shape, 100 words, 64 texts a request", target: "5" },
        ...{ length: 100, count: 512, perRequest: 64, clients: 1 },
      },
    ],
  });
}
report.print(machine, { runs, json: options.json });

async function chatModelFile(): Promise<{ path: string; name: string }> {
  if (options.model !== undefined) return { path: options.model, name: basename(options.model) };
  const shape = shapes[options.shape];
  if (shape === undefined) {
    throw new Error(`--shape takes ${Object.keys(shapes).join(" or ")}, not '${options.shape}'`);
  }
  const path = join(cacheFolder, `random-${options.shape}.q8_0.gguf`);
  const startedAt = performance.now();
  await randomModel(path, shape);
  const seconds = (performance.now() - startedAt) / 1000;
  report.say(
    `${path}, ${(Bun.file(path).size / 1e9).toFixed(2)} GB, after ${seconds.toFixed(1)} s`,
  );
  return { path, name: `${options.shape} shape, Q8_0` };
}

/** As the driver calls it; undefined where there is none. */
async function nameOfGpu(): Promise<string | undefined> {
  const program = Bun.which("nvidia-smi");
  if (program === null) return undefined;
  const child = Bun.spawn([program, "--query-gpu=name,driver_version", "--format=csv,noheader"]);
  const [line] = (await child.stdout.text()).split("\n");
  return line || undefined;
}

/** The node is started in an environment of its own; what it needs to find a GPU goes with it. */
function passedOn(...names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
