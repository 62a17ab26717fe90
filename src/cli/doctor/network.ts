/** Checks that the node can listen on its address, and who can reach it there. */

import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { alwaysWantsKeys, checkExposure } from "../../config/consistency.ts";
import { hasCode, reasonOf } from "../../core/errors.ts";
import type { RedisOptions } from "../../gateway/redis/connection.ts";
import { toSharedServer } from "../../node/node-settings.ts";
import { openReadOnly } from "../../store/database.ts";
import { keysFile } from "../../store/keys/sqlite-keys.ts";
import { openSharedKeys } from "../keys/key-store.ts";
import { type Finding, type Installation, note, ok, problem } from "./finding.ts";

export async function checkPort({ config: { host, port } }: Installation): Promise<Finding> {
  if (port === 0) return ok("Any free port is taken.");
  const failure = await listenOnce(host, port);
  if (failure === undefined) return ok(`${host}:${port} is free.`);
  if (hasCode(failure, "EADDRINUSE")) {
    const version = await versionOfNode(host, port);
    return version === undefined
      ? problem(
          `Port ${port} on ${host} is in use by another program.`,
          `Stop it, or choose another port: --port ${port + 1} (or PADDOCK_PORT).`,
        )
      : ok(`A Paddock node listens on ${host}:${port} already (${version}).`);
  }
  return problem(
    `The node cannot listen on ${host}:${port}: ${failure.message}.`,
    hasCode(failure, "EACCES")
      ? "Choose a port from 1024 on; a proxy can listen on the others."
      : "Set host to an address of this machine: 127.0.0.1, or 0.0.0.0 for all.",
  );
}

function listenOnce(host: string, port: number): Promise<Error | undefined> {
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  const server = createServer().on("error", resolve);
  server.listen(port, host, () => server.close(() => resolve(undefined)));
  return promise;
}

const askMs = 2000;

/** Undefined if it is not a Paddock node. */
async function versionOfNode(host: string, port: number): Promise<string | undefined> {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const name = reachable.includes(":") && !reachable.startsWith("[") ? `[${reachable}]` : reachable;
  try {
    const response = await fetch(`http://${name}:${port}/v1/info`, {
      signal: AbortSignal.timeout(askMs),
    });
    const info: unknown = await response.json();
    if (typeof info !== "object" || info === null) return undefined;
    return "plugin_version" in info && "version" in info ? String(info.version) : undefined;
  } catch {
    return undefined;
  }
}

export async function checkReach({ config, dataDir }: Installation): Promise<Finding> {
  const { host, auth } = config;
  try {
    const server = toSharedServer(config);
    const givenOut = server === undefined ? keysIn(join(dataDir, keysFile)) : await keysOf(server);
    checkExposure(config, givenOut > 0 || server !== undefined);
    const count = auth.api_keys.length + givenOut;
    const place = `The node listens on ${host}`;
    if (count === 0 && server !== undefined && alwaysWantsKeys(config)) {
      return ok(`${place}, and lets nobody in before a key is given out.`);
    }
    return count === 0
      ? withoutKeys(config, place)
      : ok(`${place}; ${count === 1 ? "one key opens" : `${count} keys open`} it.`);
  } catch (error) {
    return problem(reasonOf(error), "Do one of these; 'paddock keys create NAME' is the usual.");
  }
}

function withoutKeys({ auth, http }: Installation["config"], place: string): Finding {
  const remedy = "Unless that is meant: 'paddock keys create NAME'.";
  if (auth.open) {
    const who = "everyone who reaches it, also through a proxy";
    return note(`${place}, and [auth] open serves ${who}, without a key.`, remedy);
  }
  const [name] = http.allowed_hosts;
  if (name !== undefined) {
    const why = `a proxy for '${name}' that does not say that it passes requests on lets everyone in`;
    return note(`${place}; no key is wanted, and ${why}.`, remedy);
  }
  return ok(`${place}; no key is wanted, and what a proxy passes on is refused.`);
}

async function keysOf(server: RedisOptions): Promise<number> {
  using opened = await openSharedKeys(server);
  return (await opened.keys.state()).keys;
}

function keysIn(path: string): number {
  if (!existsSync(path)) return 0;
  using database = openReadOnly(path);
  return (
    database.query<{ count: number }, []>("select count(*) as count from keys").get()?.count ?? 0
  );
}
