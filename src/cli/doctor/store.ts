/** Checks the collection (opens, intact, of the configured model) and the shared Redis server. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { CollectionDescription } from "../../core/ports/passage-repository.ts";
import { findMismatch } from "../../core/retrieval/collection.ts";
import { weightsDigest } from "../../engine/fingerprint.ts";
import { toCollection, toSharedServer } from "../../node/node-settings.ts";
import { QdrantCollectionStore } from "../../store/qdrant/qdrant-collections.ts";
import { inspectCollection } from "../../store/sqlite/sqlite-collections.ts";
import { openSharedKeys } from "../keys/key-store.ts";
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
  const { findings, description } = await inspect(installation);
  const model = found.find(({ model: { name } }) => name === embeddingModel);
  if (description === undefined || model === undefined) return findings;
  return [...findings, { ...(await matchOf(description, model)), check: "store and model" }];
}

interface StoreFindings {
  findings: Finding[];
  /** Absent for an empty collection. */
  description?: CollectionDescription;
}

const notYet = (name: string): Finding =>
  ok(`There is no collection '${name}' yet; the first start makes it.`);

async function inspectFile({ config, dataDir }: Installation): Promise<StoreFindings> {
  const { collection_name: name } = config.vectorstore;
  const path = join(dataDir, "collections", `${name}.sqlite`);
  if (!existsSync(path) || statSync(path).size === 0) return { findings: [notYet(name)] };
  const remedy = `Restore ${path} from a backup, or move it away to start with an empty one.`;
  try {
    const inspected = inspectCollection(name, path);
    if (inspected === undefined) return { findings: [notYet(name)] };
    const { description, passages, faults } = inspected;
    if (faults.length > 0) {
      const message = `The collection '${name}' is damaged: ${faults.join("; ")}.`;
      return { findings: [problem(message, remedy)] };
    }
    const finding = ok(`The collection '${name}' is sound: ${passages} passages, embedded.`);
    return { findings: [finding], ...(passages === 0 ? {} : { description }) };
  } catch (error) {
    const message = `The collection '${name}' cannot be opened: ${reasonOf(error)}.`;
    return { findings: [problem(message, remedy)] };
  }
}

async function inspectServer({ config }: Installation): Promise<StoreFindings> {
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
      const message = `${server} answers; there is no collection '${name}' yet, the first start makes it.`;
      return { findings: [ok(message)] };
    }
    const { description, passages } = inspected;
    const message = `${server} answers; the collection '${name}' has ${passages} passages.`;
    return { findings: [ok(message)], ...(passages === 0 ? {} : { description }) };
  } catch (error) {
    const remedy = "Correct vectorstore.url or PADDOCK_VECTORSTORE_API_KEY, or start the server.";
    return { findings: [problem(reasonOf(error), remedy)] };
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
    return [
      ok(`Redis ${facts.version} at ${opened.address} answers; ${keys}.`),
      ...(facts.evictsKeys
        ? [
            note(
              `It may drop keys where memory is short (maxmemory-policy ${facts.evictionPolicy}).`,
              "Set its maxmemory-policy to noeviction, or to one of volatile-*.",
            ),
          ]
        : []),
      ...sharingNotices(config, dataDir, shared).map(toNote),
    ];
  } catch (error) {
    const remedy =
      "Start the server, or correct PADDOCK_SHARED_REDIS ([shared] redis) and PADDOCK_SHARED_PASSWORD. Until then a node that starts knows no key.";
    return [problem(reasonOf(error), remedy), ...embeddedCollection(config).map(toNote)];
  }
}
