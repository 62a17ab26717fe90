/** Checks the collection, the shared Redis server, and the address: can the node listen there, and who reaches it. */
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { alwaysWantsKeys, checkExposure } from "../../config/consistency.ts";
import { hasCode, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { CollectionDescription } from "../../core/ports/passage-repository.ts";
import { findMismatch } from "../../core/retrieval/collection.ts";
import { weightsDigest } from "../../engine/fingerprint.ts";
import type { RedisOptions } from "../../gateway/redis/connection.ts";
import { toCollection, toSharedServer } from "../../node/node-settings.ts";
import { isThere, numberOf, openReadOnly } from "../../store/database.ts";
import { keysFile } from "../../store/keys/sqlite-keys.ts";
import { QdrantCollectionStore } from "../../store/qdrant/qdrant-collections.ts";
import { inspectCollection } from "../../store/sqlite/sqlite-collections.ts";
import { openSharedKeys } from "../key-stores.ts";
import { type Finding, type Installation, note, ok, problem } from "./finding.ts";
import type { FoundModel } from "./models.ts";

export async function checkStore(
  installation: Installation,
  found: readonly FoundModel[],
): Promise<Finding[]> {
  const { embeddingModel } = toCollection(installation.config);
  if (embeddingModel === undefined) {
    return [ok("No embedding model is configured, and so no collection.")];
  }
  const inspect = installation.config.vectorstore.url === "embedded" ? inspectFile : inspectServer;
  const { finding, description } = await inspect(installation);
  const model = found.find(({ model: { name } }) => name === embeddingModel);
  if (description === undefined || model === undefined) return [finding];
  return [finding, { ...(await matchOf(description, model)), check: "store and model" }];
}

interface StoreFinding {
  finding: Finding;
  /** Undefined for an empty collection. */
  description?: CollectionDescription | undefined;
}

const notYet = (name: string): Finding =>
  ok(`There is no collection '${name}' yet; the first start makes it.`);

async function inspectFile({ config, dataDir }: Installation): Promise<StoreFinding> {
  const { collection_name: name } = config.vectorstore;
  const path = join(dataDir, "collections", `${name}.sqlite`);
  const remedy = `Restore ${path} from a backup, or move it away to start with an empty one.`;
  const wrong = (why: string): StoreFinding => ({
    finding: problem(`The collection '${name}' ${why}.`, remedy),
  });
  try {
    const inspected = isThere(path) ? inspectCollection(name, path) : undefined;
    if (inspected === undefined) return { finding: notYet(name) };
    const { description, passages, faults } = inspected;
    if (faults.length > 0) return wrong(`is damaged: ${faults.join("; ")}`);
    const finding = ok(`The collection '${name}' is sound: ${passages} passages, embedded.`);
    return { finding, description: passages === 0 ? undefined : description };
  } catch (error) {
    return wrong(`cannot be opened: ${reasonOf(error)}`);
  }
}

async function inspectServer({ config }: Installation): Promise<StoreFinding> {
  const { url, api_key: apiKey, timeout, collection_name: name } = config.vectorstore;
  try {
    const store = new QdrantCollectionStore({
      url,
      timeoutMs: timeout * 1000,
      ...given({ apiKey }),
    });
    // Before the version, which Qdrant returns without a key: a wrong key must not go unnoticed.
    const inspected = await store.inspect(name);
    const server = `Qdrant ${await store.version()} at ${url}`;
    if (inspected === undefined) {
      const none = `there is no collection '${name}' yet, the first start makes it`;
      return { finding: ok(`${server} answers; ${none}.`) };
    }
    const { description, passages } = inspected;
    const finding = ok(`${server} answers; the collection '${name}' has ${passages} passages.`);
    return { finding, description: passages === 0 ? undefined : description };
  } catch (error) {
    const remedy = "Correct vectorstore.url or PADDOCK_VECTORSTORE_API_KEY, or start the server.";
    return { finding: problem(reasonOf(error), remedy) };
  }
}

/** Compares only the weights: the prefixes are the collection's own. */
async function matchOf(
  description: CollectionDescription,
  { model, path, facts }: FoundModel,
): Promise<Finding> {
  const { name, embedding } = description;
  const mismatch = findMismatch(description, {
    dimension: facts.embeddingLength,
    embedding: {
      model: model.name,
      fingerprint: (await weightsDigest(path)).slice(0, fingerprintLength),
      queryPrefix: "",
      documentPrefix: "",
    },
  });
  if (mismatch !== undefined) {
    return problem(
      mismatch,
      "Configure the model that filled it, or name another collection and ingest into it; the page about knowledge says how to move.",
    );
  }
  if (embedding !== undefined) return ok(`'${model.name}' is the model that filled '${name}'.`);
  return note(
    `The collection '${name}' does not say which model filled it; it is taken for '${model.name}'.`,
    "Make sure that it is, or ingest into another collection.",
  );
}

/** As a collection stores it. */
const fingerprintLength = 32;

/** Checks the shared Redis server, and notes what the node does not share. */
export async function checkShared({ config, dataDir }: Installation): Promise<Finding[]> {
  const server = toSharedServer(config);
  if (server === undefined) return [];
  const { embeddedCollection, sharingNotices } = await import("../../node/gateway/shared-state.ts");
  const toNote = ({ message, remedy }: { message: string; remedy: string }): Finding =>
    note(`${message[0]?.toUpperCase()}${message.slice(1)}.`, remedy);
  try {
    using opened = await openSharedKeys(server);
    const known = await opened.keys.read();
    const facts = await opened.serverFacts();
    const shared = { isKnown: true, size: known.size, has: (id: string) => known.has(id) };
    const keys = `${known.size === 1 ? "one key is" : `${known.size} keys are`} shared`;
    const dropping = note(
      `It may drop keys where memory is short (maxmemory-policy ${facts.evictionPolicy}).`,
      "Set its maxmemory-policy to noeviction, or to one of volatile-*.",
    );
    return [
      ok(`Redis ${facts.version} at ${opened.address} answers; ${keys}.`),
      ...(facts.evictsKeys ? [dropping] : []),
      ...sharingNotices(config, dataDir, shared).map(toNote),
    ];
  } catch (error) {
    const remedy =
      "Start the server, or correct PADDOCK_SHARED_REDIS ([shared] redis) and PADDOCK_SHARED_PASSWORD. Until then a node that starts knows no key.";
    return [problem(reasonOf(error), remedy), ...embeddedCollection(config).map(toNote)];
  }
}

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
    const signal = AbortSignal.timeout(askMs);
    const response = await fetch(`http://${name}:${port}/v1/info`, { signal });
    const info: Record<string, unknown> = Object(await response.json());
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
  return numberOf(database, "select count(*) from keys");
}
