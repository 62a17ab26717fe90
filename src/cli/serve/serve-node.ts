/** Runs the node: prepares the models and answers requests until it is asked to stop. */
import { once } from "node:events";
import { ConfigError } from "../../config/consistency.ts";
import { planReload, serviceVariables } from "../../config/load.ts";
import type { Config } from "../../config/schema.ts";
import { hasCode, reasonOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { dataDirOf, type ModelOptions } from "../../node/node-settings.ts";
import { PaddockNode } from "../../node/paddock-node.ts";
import { type ReloadOutcome, RunningNode } from "../../node/running-node.ts";
import { createApp, type Services } from "../../server/app.ts";
import { docsPath } from "../../server/docs.ts";
import { type Connections, listen } from "../../server/listen.ts";
import { keyAccess } from "../../server/middleware/authentication.ts";
import { pagePath } from "../../server/page.ts";
import { nodeOptions, type OpenSecrets } from "../command-options.ts";
import { createLog } from "../log.ts";
import { ChatServer } from "../remote-server.ts";
import { CommandError, type Shell } from "../shell.ts";

export interface ServedConfig {
  config: Config;
  /** Path of the file; undefined: there is none. */
  file: string | undefined;
  /** Set if everyone can read secrets in it. */
  openSecrets: OpenSecrets;
  read: () => Promise<Config>;
}

export async function serve(shell: Shell, served: ServedConfig): Promise<void> {
  const { config, file, openSecrets, read } = served;
  const log = createLog(config.log_level, shell.isTerminal);
  const foreign = serviceVariables(shell.env);
  if (foreign.length > 0) {
    log.warn("variables of a Kubernetes Service are ignored", { variables: foreign });
  }
  if (openSecrets !== undefined) {
    const { path, keys, rights } = openSecrets;
    const facts = { secrets: keys, rights, remedy: `chmod 600 ${path}` };
    log.warn(
      "everyone on this machine can read the configuration file, which holds secrets",
      facts,
    );
  }
  let graceSeconds = config.limits.shutdown_grace;
  using _ending = endAnyway(shell, () => graceSeconds * 1000 + closingMs, log);
  await using node = await openNode(shell, nodeOptions(shell, config, log));
  await node.open();
  node.checkExposure();
  const server = bind(config, node.services, node.connections, log);
  const running = runningConfig({
    config,
    read,
    apply: (next) => {
      log.setLevel(next.log_level);
      graceSeconds = next.limits.shutdown_grace;
      node.apply(next);
    },
    log,
  });
  await using _ = await RunningNode.announce({
    dataDir: dataDirOf(config, shell.cwd),
    processes: shell.processes,
    onHangup: shell.onHangup,
    address: server.url.origin,
    config: file ?? null,
    reload: running.reload,
    log,
  });
  try {
    node.listensOn(server.port ?? config.port);
    shell.say(`Paddock ${shell.version} is preparing its models ...\n`);
    await node.prepare(shell.stopped, () => {
      // Other models may still be loading, with a bar on the terminal's last line.
      if (shell.isTerminal) shell.draw("\r\u001b[K");
      const { name = firstChat(config), advice } = node.defaultChat ?? {};
      shell.print(greeting(shell, config, name, server.url.origin));
      if (advice !== undefined) shell.print(`Note: ${advice}\n`);
    });
    if (!shell.stopped.aborted) await once(shell.stopped, "abort");
    shell.say("Stopping ...\n");
    node.drain();
    void server.stop();
    if (await isBusy(server, graceSeconds * 1000)) {
      node.stop();
      await isBusy(server, stopMessageMs);
    }
  } catch (error) {
    // Being asked to stop while preparing is not a failure.
    if (!shell.stopped.aborted) throw error;
  } finally {
    await server.stop(true);
  }
}

/** Time for unfinished answers to tell their callers that the node stops. */
const stopMessageMs = 1000;
/** Time for that and for everything to be closed; in `deploy/`, supervisors wait a little longer. */
const closingMs = 8000;
const pollMs = 20;

/** Ends the process if it was asked to stop and has not closed after that time: a disk may hang for good. */
export function endAnyway(
  { stopped, end }: Pick<Shell, "stopped" | "end">,
  afterMs: () => number,
  log: Log,
): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    timer = setTimeout(() => {
      log.error("the node did not close its files in time, and ends without", {
        remedy: "check the disk of the data dir; what was answered is stored",
      });
      end(1);
    }, afterMs());
  };
  if (stopped.aborted) arm();
  else stopped.addEventListener("abort", arm, { once: true });
  return {
    [Symbol.dispose]() {
      stopped.removeEventListener("abort", arm);
      clearTimeout(timer);
    },
  };
}

/** Waits for the answers in progress; returns whether some are left. */
async function isBusy(server: { pendingRequests: number }, mostMs: number): Promise<boolean> {
  const end = performance.now() + mostMs;
  while (server.pendingRequests > 0 && performance.now() < end) await Bun.sleep(pollMs);
  return server.pendingRequests > 0;
}

const openNode = (shell: Shell, options: ModelOptions): Promise<PaddockNode> => {
  const { version, handbook, residentMemory } = shell;
  return PaddockNode.create({ ...options, version, handbook, residentMemory });
};

/** Binds before anything is prepared: a port in use fails at once, and health checks work. */
function bind(config: Config, services: Services, connections: Connections, log: Log) {
  const { host: hostname, port, http } = config;
  try {
    const app = createApp(services);
    return listen({ hostname, port, app, connections, keepAlive: http.keep_alive, log });
  } catch (cause) {
    const inUse = hasCode(cause, "EADDRINUSE");
    throw new CommandError(
      inUse
        ? `Port ${port} on ${hostname} is in use. Stop what listens there, or choose another port: --port ${port + 1} (or PADDOCK_PORT).`
        : `The node cannot listen on ${hostname}:${port}: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

/** It may still be on its way, upstream. */
const firstChat = ({ models }: Config): string | undefined =>
  models.find(({ type }) => type === "chat")?.name;

function greeting(shell: Shell, config: Config, chat: string | undefined, origin: string): string {
  const key = config.auth.api_keys.length > 0 ? ' -H "Authorization: Bearer $PADDOCK_KEY"' : "";
  const body = JSON.stringify({ model: chat, messages: [{ role: "user", content: "Hello!" }] });
  const first =
    chat === undefined
      ? `curl ${origin}/v1/models`
      : `curl ${origin}/v1/chat/completions${key} -H "Content-Type: application/json" -d '${body}'`;
  return `Paddock ${shell.version} listening on ${origin}\nPage: ${origin}${pagePath}\nDocs: ${origin}${docsPath}\nTry:  ${first}\n`;
}

interface RunningConfigOptions extends Pick<ServedConfig, "config" | "read"> {
  apply: (config: Config) => void;
  log: Log;
}

/** The configuration of a running node; reloads it on request, as far as possible. */
export function runningConfig({ config, read, apply, log }: RunningConfigOptions) {
  let current = config;
  const reload = async (): Promise<ReloadOutcome> => {
    try {
      const { config: next, changed, needsRestart } = planReload(current, await read());
      apply(next);
      current = next;
      log.info("the configuration was read again", { changed });
      if (needsRestart.length > 0) {
        log.warn("some of what changed needs a restart", { keys: needsRestart });
      }
      return { changed, needsRestart };
    } catch (error) {
      const reason = reasonOf(error);
      log.error("the configuration was read again and is wrong; nothing was changed", {
        ...(error instanceof ConfigError ? { reason } : { error }),
      });
      return { changed: [], needsRestart: [], error: reason };
    }
  };
  return { current: () => current, reload };
}

/** A private node in this process for `paddock chat`, on a random port with a random key. */
export async function startLocalNode(
  shell: Shell,
  configured: Config,
): Promise<AsyncDisposable & { server: ChatServer }> {
  await using resources = new AsyncDisposableStack();
  const key = crypto.randomUUID();
  // The shared limits of other nodes do not apply to this chat.
  const { redis: _, ...shared } = configured.shared;
  const config: Config = { ...configured, host: "127.0.0.1", port: 0, shared };
  const options = nodeOptions(shell, config);
  const node = resources.use(await openNode(shell, options));
  await node.prepare(shell.stopped);
  const services = { ...node.services, access: keyAccess([key]) };
  const listener = bind(config, services, node.connections, options.log);
  resources.defer(() => listener.stop(true));
  node.listensOn(listener.port ?? 0);
  const server = new ChatServer({ url: listener.url.origin, key });
  const owned = resources.move();
  return { server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
