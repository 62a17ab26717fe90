/** A node whose model runs elsewhere, and the real nodes that serve it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeInfo } from "../../src/server/operations/node/schema.ts";
import { decode } from "./decode.ts";
import { freePort } from "./free-port.ts";
import { runPaddock, type ServingPaddock, servePaddock } from "./paddock-process.ts";
import { parsePrometheus, sampleValue } from "./prometheus-text.ts";
import { tempDir } from "./temp-dir.ts";
import { tinyModels } from "./tiny-models.ts";
import { listeningNode } from "./tiny-node.ts";

export const model = "tiny-chat";

/** A node as a process that can be stopped, killed and started again. */
export interface UpstreamNode extends AsyncDisposable {
  port: number;
  /** Of its API. */
  url: string;
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void;
  /** Waits for its end. */
  ended(): Promise<number>;
  /** The same node again, on the same port, where it was ended. */
  start(): Promise<void>;
}

/** A node with the tiny chat model, which whoever asks it takes for one with a process for the model. */
export async function upstreamNode(): Promise<UpstreamNode> {
  const { chat } = await tinyModels();
  return await restartableNode(
    `[engine]\nisolation = "none"\n[[models]]\nname = "${model}"\ntype = "chat"\nsource = ${JSON.stringify(chat)}\nctx_size = 4096\n`,
  );
}

export async function restartableNode(config: string): Promise<UpstreamNode> {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  await writeFile(join(folder.path, "paddock.toml"), config);
  const port = await freePort();
  const serve = (): Promise<ServingPaddock> =>
    // Several share the machine's cores with the tests.
    servePaddock({ cwd: folder.path }, ["--port", String(port), "--threads", "1"]);
  let node = await serve();
  let isToEnd = false;
  resources.defer(async () => await node[Symbol.asyncDispose]());
  return {
    port,
    url: `http://127.0.0.1:${port}/v1`,
    kill(signal) {
      node.process.kill(signal);
      isToEnd ||= signal === "SIGKILL" || signal === "SIGTERM";
    },
    ended: () => node.exit(),
    async start() {
      if (!isToEnd) return;
      await node[Symbol.asyncDispose]();
      node = await serve();
      isToEnd = false;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

export interface FrontNode extends AsyncDisposable {
  /** A chat of so many tokens, by the user's and the model's turns; the first decides who is asked. */
  chat(
    turns: string | readonly string[],
    options?: { tokens?: number; stream?: boolean; more?: object },
  ): Promise<Response>;
  ready(): Promise<Response>;
  /** A series of a replica. */
  series(
    name: "up" | "in_flight" | "requests_total" | "retries_total",
    url: string,
  ): Promise<number>;
}

export interface FrontProcess extends FrontNode {
  /** Writes other addresses into the configuration, and has it read again. */
  reload(urls: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>;
}

/** The model, at these addresses. */
export const frontConfig = ([first, ...rest]: readonly string[], upstreamTimeout = 300): string =>
  `[[models]]\nname = "${model}"\ntype = "chat"\nsource = "openai:${first}"\nreplicas = ${JSON.stringify(rest)}\nupstream_timeout = ${upstreamTimeout}\n`;

/** A node in this process, in front of these addresses. */
export async function frontNode(
  urls: readonly string[],
  { upstreamTimeout = 300 } = {},
): Promise<FrontNode> {
  const front = await listeningNode(frontConfig(urls, upstreamTimeout));
  return {
    ...clientOf(new URL(front.baseUrl).origin),
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
}

/** The same as a process of its own. */
export async function frontProcess(urls: readonly string[]): Promise<FrontProcess> {
  const resources = new AsyncDisposableStack();
  const folder = resources.use(await tempDir());
  const cwd = folder.path;
  const write = (all: readonly string[]): Promise<void> =>
    writeFile(join(cwd, "paddock.toml"), frontConfig(all));
  await write(urls);
  const { origin } = resources.use(await servePaddock({ cwd }));
  return {
    ...clientOf(origin),
    async reload(others) {
      await write(others);
      return await runPaddock(["reload"], { cwd });
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const clientOf = (origin: string): Omit<FrontNode, keyof AsyncDisposable> => ({
  chat: (turns, { tokens = 4, stream = false, more = {} } = {}) =>
    fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model,
        messages: [turns].flat().map((content, at) => ({
          role: at % 2 === 0 ? "user" : "assistant",
          content,
        })),
        max_tokens: tokens,
        stream,
        // Without the end token an answer is as long as it may be.
        logit_bias: { "2": -100 },
        ...more,
      }),
    }),
  ready: () => fetch(`${origin}/ready`),
  async series(name, replica) {
    const { models } = await decode(NodeInfo, await fetch(`${origin}/v1/info`));
    const urls = models.find(({ name }) => name === model)?.upstream?.urls ?? [];
    const page = await (await fetch(`${origin}/metrics`)).text();
    const labels = { model, replica: String(urls.indexOf(replica) + 1) };
    return sampleValue(parsePrometheus(page), `paddock_upstream_${name}`, labels) ?? Number.NaN;
  },
});
