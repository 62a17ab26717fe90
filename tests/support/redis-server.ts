/** A real Redis server for tests, on a free port of loopback and in a folder of its own. */
import { RedisClient } from "bun";
import { freePort } from "./free-port.ts";
import { installed } from "./installed-program.ts";
import { keepLaunching, type LaunchedServer } from "./launch-server.ts";
import { notInstalled } from "./skip-reason.ts";
import { tempDir } from "./temp-dir.ts";

/** What it held is gone when it is killed. */
export interface RedisServer extends AsyncDisposable, Omit<LaunchedServer, "pid" | "restart"> {
  readonly port: number;
  readonly url: string;
  /** Asks it as an administrator would. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
}

const program = installed("redis-server");

/** Whether the tests with it can run; where they cannot, that is said. */
export const hasRedis = program !== undefined;

// Where the tests have to run, what nobody tried must not pass for what works.
if (!hasRedis && process.env.PADDOCK_REQUIRE_REDIS === "1") {
  throw new Error(`The tests with Redis have to run here. ${notInstalled("redis-server")}`);
}

export async function startRedis(
  options: { password?: string; args?: readonly string[] } = {},
): Promise<RedisServer> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await tempDir());
  const port = await freePort();
  const { password, args = [] } = options;
  const url = `redis://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`;
  const server = await keepLaunching({
    name: "Redis",
    command: [
      program ?? "",
      ...["--bind", "127.0.0.1", "--port", String(port), "--dir", folder.path],
      ...["--save", "", "--appendonly", "no"],
      ...(password === undefined ? [] : ["--requirepass", password]),
      ...args,
    ],
    cwd: folder.path,
    url,
    isReady: async () => (await ask(url, "PING", []).catch(() => undefined)) === "PONG",
  });
  cleanup.defer(() => server.kill());
  const owned = cleanup.move();
  return {
    port,
    url,
    ask: (command, ...rest) => ask(url, command, rest),
    kill: () => server.kill(),
    start: () => server.start(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function ask(url: string, command: string, args: readonly string[]): Promise<unknown> {
  const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: 5000 });
  try {
    return await client.send(command, [...args]);
  } finally {
    client.close();
  }
}
