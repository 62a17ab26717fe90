/** Opens the node's collection, and refuses one that does not fit its embedding model. */
import { NodeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type {
  CollectionDescription,
  CollectionSpec,
  CollectionStore,
  EmbeddingIdentity,
  PassageRepository,
} from "../ports/passage-repository.ts";

export interface OpenCollection {
  repository: PassageRepository;
  prefixes: Pick<EmbeddingIdentity, "queryPrefix" | "documentPrefix">;
}

export async function openCollection(
  store: CollectionStore,
  name: string,
  spec: CollectionSpec,
  log: Log,
): Promise<OpenCollection> {
  const found = await store.open(name);
  if (found === undefined) return toOpen(await store.create(name, spec), spec.embedding);
  try {
    const description = await found.describe();
    const mismatch = findMismatch(description, spec);
    if (mismatch === undefined) {
      return toOpen(found, filledWith(description, spec, log));
    }
    // An empty collection can be recreated without loss; one that Paddock did not create is left alone.
    if (description.embedding === undefined || (await found.count()) > 0) {
      const why = `${mismatch} ${remedy(name, spec.embedding.model)}`;
      throw new NodeError("collection_mismatch", why);
    }
  } catch (error) {
    await found[Symbol.asyncDispose]();
    throw error;
  }
  await found[Symbol.asyncDispose]();
  await store.drop(name);
  log.info("the empty collection was recreated for another embedding model", { collection: name });
  return toOpen(await store.create(name, spec), spec.embedding);
}

/** Opens a collection as it is, whatever filled it; undefined if there is none. */
export async function openExisting(
  store: CollectionStore,
  name: string,
  spec: CollectionSpec,
  log: Log,
): Promise<OpenCollection | undefined> {
  const repository = await store.open(name);
  if (repository === undefined) return undefined;
  await using opened = new AsyncDisposableStack();
  opened.use(repository);
  const open = toOpen(repository, filledWith(await repository.describe(), spec, log));
  opened.move();
  return open;
}

const toOpen = (
  repository: PassageRepository,
  { queryPrefix, documentPrefix }: OpenCollection["prefixes"],
): OpenCollection => ({ repository, prefixes: { queryPrefix, documentPrefix } });

/** The collection's own prefixes count: vectors with and without a prefix do not match. */
function filledWith(
  { name, embedding }: CollectionDescription,
  spec: CollectionSpec,
  log: Log,
): OpenCollection["prefixes"] {
  if (embedding === undefined) {
    const what =
      "the collection does not say which model filled it; it is taken for the configured one, without prefixes";
    log.warn(what, { collection: name, model: spec.embedding.model });
    return { queryPrefix: "", documentPrefix: "" };
  }
  const { queryPrefix: query_prefix, documentPrefix: document_prefix } = embedding;
  const { queryPrefix, documentPrefix } = spec.embedding;
  if (query_prefix !== queryPrefix || document_prefix !== documentPrefix) {
    const what =
      "the collection was filled with other prefixes than the model's; its own stay in use";
    log.warn(what, { collection: name, query_prefix, document_prefix });
  }
  return embedding;
}

export function findMismatch(
  { name, dimension, distance, embedding }: CollectionDescription,
  spec: CollectionSpec,
): string | undefined {
  const { model, fingerprint } = spec.embedding;
  const filler = embedding === undefined ? "another model" : `the model '${embedding.model}'`;
  if (dimension !== spec.dimension) {
    return `The collection '${name}' was filled by ${filler}, with vectors of ${dimension} dimensions; those of the configured '${model}' have ${spec.dimension}.`;
  }
  // Vectors of unit length have the same order and score under both.
  if (distance !== "cosine" && distance !== "dot") {
    return `The collection '${name}' compares vectors by '${distance}'; the node needs 'cosine'.`;
  }
  if (embedding !== undefined && embedding.fingerprint !== fingerprint) {
    const same = embedding.model === model ? ", of the same name but with other weights" : "";
    return `The collection '${name}' was filled by ${filler} (weights ${short(embedding.fingerprint)}); the configured model is '${model}' (weights ${short(fingerprint)})${same}. Vectors of two models cannot be compared.`;
  }
  return undefined;
}

const short = (fingerprint: string): string => fingerprint.slice(0, 12);

const remedy = (name: string, model: string): string =>
  `Configure the model that filled it; or name another collection ([vectorstore] collection_name) and ingest into it; or embed what it holds again, into another one: 'paddock collections copy ${name} --model ${model} --as ${name}-2', then collection_name = "${name}-2".`;

/** A collection's name: also a valid file name on every platform. */
export const collectionNamePattern = "^[A-Za-z0-9_-]{1,64}$";
export const collectionNameRule = "1 to 64 letters, digits, '_' or '-'";

export const isCollectionName = (name: string): boolean =>
  new RegExp(collectionNamePattern).test(name);

/** Refuses a vector with another dimension, and one with NaN or infinity, which cannot be compared. */
export function checkVector(
  vector: Float32Array,
  { name, dimension }: { name: string; dimension: number },
): void {
  if (vector.length !== dimension) {
    const why = `The collection '${name}' holds vectors of ${dimension} numbers; this one has ${vector.length}.`;
    throw new NodeError("invalid_request", why);
  }
  const at = vector.findIndex((value) => !Number.isFinite(value));
  if (at === -1) return;
  const why = `The collection '${name}' holds vectors of finite numbers; this one has ${vector[at]} in place ${at}.`;
  throw new NodeError("invalid_request", why);
}
