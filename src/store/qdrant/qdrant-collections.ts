/** Collections of a Qdrant server. A thread makes the requests, since they and their answers are large. */
import { given } from "../../core/given.ts";
import type { Log } from "../../core/log.ts";
import type {
  CollectionDescription,
  CollectionSpec,
  CollectionStore,
  PassageRepository,
} from "../../core/ports/passage-repository.ts";
import { inThread, type Remote } from "../thread-calls.ts";
import { checkedKey, qdrantAddress } from "./address.ts";
import type { QdrantOptions } from "./connection.ts";
import type { CollectionShape } from "./points.ts";
import { QdrantRepository } from "./qdrant-repository.ts";
import type { QdrantServer } from "./qdrant-server.ts";

/** One for each server of this process, so that its parts know together when it is away. */
const servers = new Map<string, Remote<QdrantServer>>();

function serverAt(options: QdrantOptions, log: Log | undefined): Remote<QdrantServer> {
  const key = JSON.stringify(options);
  const known = servers.get(key);
  if (known !== undefined) return known;
  const called = `Qdrant at ${qdrantAddress(options.url)}`;
  const started = inThread({
    target: "qdrant",
    args: [options],
    called,
    isStateless: true,
    ...given({ log }),
  });
  servers.set(key, started);
  return started;
}

export class QdrantCollectionStore implements CollectionStore {
  readonly #url: string;
  readonly #server: Remote<QdrantServer>;

  constructor({ url, apiKey = "", timeoutMs }: QdrantOptions, log?: Log) {
    this.#url = qdrantAddress(url);
    checkedKey(apiKey);
    this.#server = serverAt({ url, apiKey, ...given({ timeoutMs }) }, log);
  }

  list(): Promise<string[]> {
    return this.#server.list();
  }

  /** A server may come back empty, or older. */
  async isMissing(name: string): Promise<boolean> {
    return !(await this.list()).includes(name);
  }

  async open(name: string): Promise<PassageRepository | undefined> {
    const shape = await this.#server.open(name);
    return shape && this.#opened(name, shape);
  }

  /** Inspects a collection without completing or changing it; undefined if there is none. */
  async inspect(
    name: string,
  ): Promise<{ description: CollectionDescription; passages: number } | undefined> {
    const shape = await this.#server.inspect(name);
    if (shape === undefined) return undefined;
    const repository = this.#opened(name, shape);
    return { description: await repository.describe(), passages: await repository.count() };
  }

  version(): Promise<string> {
    return this.#server.version();
  }

  async create(name: string, spec: CollectionSpec): Promise<PassageRepository> {
    return this.#opened(name, await this.#server.create(name, spec));
  }

  drop(name: string): Promise<void> {
    return this.#server.drop(name);
  }

  #opened(name: string, shape: CollectionShape): QdrantRepository {
    return new QdrantRepository(this.#server, { name, shape }, this.#url);
  }
}
