/** The peer: llama-server, started for one model, with all cores and the node's slots. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "../../tests/support/temp-dir.ts";
import type { ChatServer } from "../measuring/client.ts";
import { killAtExit } from "./kill-at-exit.ts";
import { serverIn } from "./peer-location.ts";

export interface LlamaServer extends ChatServer, AsyncDisposable {
  pid: number;
}

export interface LlamaServerOptions {
  /** Where the program and its libraries lie. */
  folder: string;
  model: string;
  threads: number;
  arguments: readonly (string | number)[];
}

/** So many slots, each with a context of its own. The RAM cache of prompts would only cost time: no prompt comes twice. */
export const chatArguments = (slots: number, contextSize: number): (string | number)[] => [
  ...["--parallel", slots, "--ctx-size", slots * contextSize, "--cache-ram", 0],
];

/** As many slots as for a chat; a text must fit one batch. */
export const embeddingArguments = (slots: number, contextSize: number): (string | number)[] => [
  ...["--embeddings", "--pooling", "mean", "--parallel", slots],
  ...["--ctx-size", slots * contextSize, "--batch-size", 2048, "--ubatch-size", 2048],
];

export interface Peers extends AsyncDisposable {
  servers: { peer: LlamaServer; tuned: LlamaServer };
}

/** As it comes, and without threads that spin while they wait. */
export async function startPeers(options: LlamaServerOptions): Promise<Peers> {
  await using stack = new AsyncDisposableStack();
  const peer = stack.use(await startLlamaServer(options));
  const tunedOptions = { ...options, arguments: [...options.arguments, "--poll", 0] };
  const tuned = stack.use(await startLlamaServer(tunedOptions));
  const owned = stack.move();
  return { servers: { peer, tuned }, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export async function startLlamaServer(options: LlamaServerOptions): Promise<LlamaServer> {
  const { folder, model, threads } = options;
  await using stack = new AsyncDisposableStack();
  const temporary = stack.use(await tempDir());
  const log = join(temporary.path, "log");
  const port = freePort();
  const command = [
    ...[serverIn(folder), "--model", model, "--threads", threads, ...options.arguments],
    ...["--host", "127.0.0.1", "--port", port, "--no-webui"],
  ];
  const child = Bun.spawn(command.map(String), {
    // The libraries beside the program, wherever it was built.
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [folder, process.env.LD_LIBRARY_PATH].filter(Boolean).join(":"),
    },
    stdin: "ignore",
    stdout: Bun.file(log),
    stderr: Bun.file(`${log}.err`),
  });
  killAtExit(child);
  stack.defer(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  const origin = `http://127.0.0.1:${port}`;
  while (!(await isReady(`${origin}/health`))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const said = await readFile(`${log}.err`, "utf8");
      throw new Error(`llama-server ended while it started:\n${said.slice(-2000)}`);
    }
    await Bun.sleep(50);
  }
  const owned = stack.move();
  return {
    pid: child.pid,
    baseUrl: `${origin}/v1`,
    model: "peer",
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const isReady = async (url: string): Promise<boolean> =>
  await fetch(url, { keepalive: false }).then(
    ({ ok }) => ok,
    () => false, // does not listen yet
  );

function freePort(): number {
  const socket = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = socket;
  socket.stop(true);
  return port;
}
