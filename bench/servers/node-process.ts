/** The node as a real process, with a configuration of its own. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ServingPaddock, servePaddock } from "../../tests/support/paddock-process.ts";
import { tempDir } from "../../tests/support/temp-dir.ts";
import { killAtExit } from "./kill-at-exit.ts";

interface ChosenThreads {
  threads: number;
  why: string;
}

export interface NodeUnderTest extends AsyncDisposable {
  baseUrl: string;
  pid: number;
  /** What it has chosen for its chat model so far; the last counts. */
  threads(): [ChosenThreads, ...ChosenThreads[]];
  /** The engine's build, and how many layers of the first model are on a GPU. */
  engine(): Promise<string>;
  /** Waits until nothing is embedded in the background: of a model without vectors of its own, the handbook. */
  settled(): Promise<void>;
}

/** From the start until everything is there, of every node that was started. */
export const startTimes: number[] = [];

export async function startNode(
  config: string,
  settings: Record<string, string> = {},
): Promise<NodeUnderTest> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempDir());
  await writeFile(join(folder.path, "paddock.toml"), config);
  const env = { PADDOCK_LOG_LEVEL: "info", ...settings };
  const startedAt = performance.now();
  const node = stack.use(await servePaddock({ cwd: folder.path, env }));
  killAtExit(node.process);
  startTimes.push(performance.now() - startedAt);
  const owned = stack.move();
  return {
    baseUrl: `${node.origin}/v1`,
    pid: node.process.pid,
    threads: () => chosenThreads(node),
    engine: async () => {
      const info = JSON.parse(await (await fetch(`${node.origin}/v1/info`)).text());
      return `${info.plugin_version}, ${info.models[0]?.n_gpu_layers} layers on a GPU`;
    },
    settled: async () => {
      for (;;) {
        const { reasons } = JSON.parse(await (await fetch(`${node.origin}/ready`)).text());
        if (reasons === undefined || reasons.length === 0) return;
        await Bun.sleep(250);
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function chosenThreads(node: ServingPaddock): [ChosenThreads, ...ChosenThreads[]] {
  const lines = node.stderr().matchAll(/"threads":(\d+),"why":"([^"]*)","msg":"threads of a/g);
  const [first, ...later] = [...lines].map(([, threads, why = ""]) => ({
    threads: Number(threads),
    why,
  }));
  if (first === undefined) {
    throw new Error("The node's log does not say how many threads its model has");
  }
  return [first, ...later];
}

export interface ChatModelSettings {
  contextSize: number;
  slots: number;
  gpuLayers?: number;
}

export const chatModel = (path: string, settings: ChatModelSettings): string =>
  `[[models]]
name = "chat"
type = "chat"
source = ${JSON.stringify(path)}
quantization = "as-is"
ctx_size = ${settings.contextSize}
parallel = ${settings.slots}
n_gpu_layers = ${settings.gpuLayers ?? 0}
`;

export const embeddingModel = (path: string, gpuLayers = 0): string =>
  `[[models]]
name = "embedding"
type = "embedding"
source = ${JSON.stringify(path)}
n_gpu_layers = ${gpuLayers}
`;
