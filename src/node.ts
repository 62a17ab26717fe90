/** Composition root: a config becomes engines, a repository and services, and all of it is disposed again. */
import { basename, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeIdentity } from "./api/info/wire.ts";
import type { Services } from "./app.ts";
import { checkExposure } from "./config/consistency.ts";
import type { Config, ModelConfig } from "./config/schema.ts";
import { ChatService } from "./core/chat.ts";
import { type OpenCollection, openCollection } from "./core/collection.ts";
import { EmbeddingService } from "./core/embedding.ts";
import { NodeError, reasonOf } from "./core/errors.ts";
import { GroundingService } from "./core/grounding.ts";
import type { Log } from "./core/log.ts";
import { type EmbeddingModel, type LoadedModel, ModelRegistry } from "./core/model.ts";
import type { ModelFacts } from "./core/model-memory.ts";
import type { ModelHost } from "./core/ports/model-host.ts";
import type { CollectionHome } from "./core/ports/passage-repository.ts";
import type { Reranker } from "./core/ports/reranker.ts";
import type { Progress } from "./core/progress.ts";
import { RetrievalService } from "./core/retrieval.ts";
import { readMachineMemory } from "./engine/machine-memory.ts";
import { threadBudget } from "./engine/threads.ts";
import type { TranscodeOptions } from "./engine/transcode.ts";
import { keyAccess } from "./http/auth.ts";
import { handbookDocuments, type Page } from "./ingest/pages.ts";
import { ingest } from "./ingest/pipeline.ts";
import { keysFile, SqliteKeys } from "./keys/sqlite-keys.ts";
import { modelsFolder } from "./models/models-folder.ts";
import { autoSource } from "./models/sources/auto.ts";
import { type Hub, hubFrom } from "./models/sources/hub.ts";
import { resolveSource } from "./models/sources/resolve.ts";
import { toCollection, toModelSpec, toQuantization, toRagSettings } from "./node-settings.ts";
import { QdrantHome } from "./repository/qdrant/qdrant-home.ts";
import { SqliteHome } from "./repository/sqlite/sqlite-home.ts";
import { UnchangedHome } from "./repository/sqlite/unchanged-home.ts";
import { RunnerHost } from "./runner/runner-host.ts";

export interface NodeOptions {
  config: Config;
  /** What relative paths of the configuration start from. */
  baseDir: string;
  /** The command line that runs this program, for work in a process of its own. */
  program: readonly string[];
  version: string;
  /** The pages that an empty collection is filled with. */
  handbook: () => Promise<readonly Page[]>;
  /** Where models are fetched from; default: the public hub, without a token. */
  hub?: Hub;
  log: Log;
  progress: Progress;
}

export class PaddockNode implements AsyncDisposable {
  readonly services: Services;
  readonly #options: NodeOptions;
  readonly #models: ModelRegistry;
  readonly #retrieval: RetrievalService;
  readonly #keys: SqliteKeys;
  readonly #resources = new AsyncDisposableStack();
  readonly #identity: NodeIdentity;
  readonly #stopping = new AbortController();
  #isDraining = false;

  constructor(options: NodeOptions) {
    const { config, version, log } = options;
    this.#options = options;
    this.#keys = this.#resources.use(new SqliteKeys(join(this.#dataDir, keysFile)));
    this.#models = new ModelRegistry(config.models);
    this.#retrieval = new RetrievalService(this.#models, toCollection(config), config.retrieval);
    this.#identity = { version, engineVersion: "not loaded yet", port: config.port };
    this.services = {
      chat: new ChatService(
        this.#models,
        new GroundingService(this.#retrieval, toRagSettings(config), log),
      ),
      embeddings: new EmbeddingService(this.#models),
      retrieval: this.#retrieval,
      models: this.#models,
      identity: () => this.#identity,
      access: keyAccess(config.auth.api_keys, this.#keys),
      stopping: this.#stopping.signal,
      isDraining: () => this.#isDraining,
      limits: {
        maxBodyBytes: config.limits.max_body_bytes,
        requestTimeoutMs: config.limits.request_timeout * 1000,
      },
      log,
    };
  }

  /** Refuses to serve strangers who need no key. */
  checkExposure(): void {
    checkExposure(this.#options.config, this.#keys.hasKeys());
  }

  /** Takes no new requests; answers in progress go on. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Ends every answer in progress with an error that says why. */
  stop(): void {
    this.#stopping.abort(new NodeError("unavailable", "The node is stopping. Ask again later."));
  }

  /** Says which port the node really listens on. */
  listensOn(port: number): void {
    this.#identity.port = port;
  }

  /** Makes every model and the collection ready; requests are answered as each becomes so. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { models } = this.#options.config;
    const host = await this.#openHost(models);
    for (const model of models) {
      signal.throwIfAborted();
      this.#models.add(await this.#load(host, model, signal));
    }
    const reranker = await this.#loadReranker(host, signal);
    const name = this.#retrieval.collection.embeddingModel;
    if (name === undefined) return;
    const embedding = this.#models.embedding(name);
    const attach = async (): Promise<void> => {
      const { repository, prefixes } = await this.#openCollection(embedding);
      await this.#fillWithHandbook(embedding, { repository, prefixes }, signal);
      const { queryPrefix } = prefixes;
      this.#retrieval.attach({
        repository,
        queryPrefix,
        ...(reranker === undefined ? {} : { reranker }),
      });
    };
    try {
      await attach();
    } catch (error) {
      if (!this.#mayComeBack(error)) throw error;
      this.#serveWithout(error);
      void this.#keepTrying(attach, error.message);
    }
  }

  /** Opens only the collection and the model that fills it, for work that serves nobody. */
  async openCollection(
    signal: AbortSignal,
    { create = true } = {},
  ): Promise<OpenCollection & { embedding: EmbeddingModel }> {
    const embedding = await this.loadEmbedding(signal);
    const home = create ? this.collectionHome() : new UnchangedHome(this.collectionHome());
    return { embedding, ...(await this.#openCollection(embedding, home)) };
  }

  /** Loads only the model that fills the collection. */
  async loadEmbedding(signal: AbortSignal): Promise<EmbeddingModel> {
    const name = this.#retrieval.collection.embeddingModel;
    const model = this.#options.config.models.find((candidate) => candidate.name === name);
    if (model === undefined) {
      throw new NodeError(
        "unavailable",
        'No embedding model is configured; a collection needs one: [[models]] type = "embedding".',
      );
    }
    const host = await this.#openHost([model], "none");
    this.#models.add(await this.#load(host, model, signal));
    return this.#models.embedding(model.name);
  }

  /** The home of collections at an address; default: the configured one. */
  collectionHome(url = this.#options.config.vectorstore.url): CollectionHome {
    if (url === "embedded")
      return new SqliteHome(join(this.#dataDir, "collections"), this.#options.log);
    const { url: configured, api_key: apiKey, timeout } = this.#options.config.vectorstore;
    // One server's key is not shown to another.
    const isMeant = apiKey !== undefined && (configured === url || configured === "embedded");
    return new QdrantHome({ url, timeoutMs: timeout * 1000, ...(isMeant ? { apiKey } : {}) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#resources.disposeAsync();
  }

  get #dataDir(): string {
    return resolve(this.#options.baseDir, this.#options.config.data_dir);
  }

  /** Where the models run; what serves nobody else needs no process of their own for them. */
  async #openHost(
    models: readonly ModelConfig[],
    isolation = this.#options.config.engine.isolation,
  ): Promise<ModelHost> {
    const { config, baseDir, program, log } = this.#options;
    const engine = {
      threads: config.engine.threads,
      accelerator: models.some(({ n_gpu_layers: layers }) => layers !== 0),
      ...(config.engine.gpu_libraries === undefined
        ? {}
        : { gpuLibraries: resolve(baseDir, config.engine.gpu_libraries) }),
    };
    if (isolation === "process") {
      const { threads, reason } = await threadBudget(engine.threads);
      log.info("models run in processes of their own", { threads, why: reason });
      return this.#resources.use(new RunnerHost({ program, engine: { ...engine, threads }, log }));
    }
    const { openLocalHost } = await import("./engine/local-host.ts");
    return this.#resources.use(await openLocalHost({ ...engine, log }));
  }

  async #load(host: ModelHost, configured: ModelConfig, signal: AbortSignal): Promise<LoadedModel> {
    const { program, progress, log } = this.#options;
    const folder = modelsFolder(this.#dataDir);
    const model = await this.#chosen(configured, folder);
    const source = await this.#resolve(model.source, signal);
    const type = toQuantization(model);
    const path =
      type === undefined
        ? source
        : await transcoded(source, {
            type,
            folder,
            threads: host.threads,
            program,
            signal,
            progress,
            log,
          });
    const loaded = this.#resources.use(
      await host.loadModel(toModelSpec(model, path), { progress, signal }),
    );
    this.#identity.engineVersion = host.version;
    log.info("a model is ready", {
      model: model.name,
      type: model.type,
      file: basename(path),
      ...loaded.card.settings,
    });
    return loaded;
  }

  /** The model with a source to load it from, where that is left to the node. */
  async #chosen(model: ModelConfig, folder: string): Promise<ModelConfig> {
    if (model.source !== "auto") return model;
    const { parallel } = model;
    const { source, why } = await autoSource(model.type, {
      folder,
      parallel,
      machine: readMachineMemory,
      readFacts,
    });
    this.#options.log.info("a model was chosen", { model: model.name, source, why });
    return { ...model, source };
  }

  async #loadReranker(host: ModelHost, signal: AbortSignal): Promise<Reranker | undefined> {
    const { config, progress } = this.#options;
    const { reranker: source } = config.retrieval;
    if (source === undefined) return undefined;
    const path = await this.#resolve(source, signal);
    return this.#resources.use(await host.loadReranker(path, { progress, signal }));
  }

  /** The file of a source, fetched or made where it is not there yet. */
  async #resolve(source: string, signal: AbortSignal): Promise<string> {
    const { baseDir, progress, hub = hubFrom({}) } = this.#options;
    const folder = modelsFolder(this.#dataDir);
    return await resolveSource(source, { folder, baseDir, hub, progress, signal });
  }

  async #openCollection(
    { engine, identity }: EmbeddingModel,
    home = this.collectionHome(),
  ): Promise<OpenCollection> {
    const { config, log } = this.#options;
    const open = await openCollection(
      home,
      config.vectorstore.collection_name,
      { dimension: engine.dimension, embedding: identity },
      log,
    );
    this.#resources.use(open.repository);
    return open;
  }

  /** A server may be away for a while; a file on this machine that cannot be opened is a failure. */
  #mayComeBack(error: unknown): error is NodeError {
    const { url } = this.#options.config.vectorstore;
    return url !== "embedded" && error instanceof NodeError && error.kind === "unavailable";
  }

  #serveWithout(error: NodeError): void {
    this.#retrieval.unavailable(error);
    this.#options.log.warn("there is no collection now; the node serves without it", {
      reason: error.message,
    });
  }

  /** Until the collection is there; what is in the way is said whenever it changes. */
  async #keepTrying(attach: () => Promise<void>, said: string): Promise<void> {
    const { log } = this.#options;
    let last = said;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // Ended early when the node stops.
      await sleep(retryMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        await attach();
        log.info("the collection can be reached now");
        return;
      } catch (error) {
        const known =
          error instanceof NodeError
            ? error
            : new NodeError("unavailable", `The collection cannot be opened: ${reasonOf(error)}`);
        if (known.message !== last) this.#serveWithout(known);
        last = known.message;
      }
    }
  }

  async #fillWithHandbook(
    { engine }: EmbeddingModel,
    { repository, prefixes }: OpenCollection,
    signal: AbortSignal,
  ): Promise<void> {
    const { config, handbook, progress, log } = this.#options;
    if (!config.vectorstore.handbook || (await repository.count()) > 0) return;
    // A collection that others made is theirs to fill.
    if ((await repository.describe()).embedding === undefined) return;
    const { embedded } = await ingest(await handbookDocuments(await handbook()), {
      engine,
      repository,
      documentPrefix: prefixes.documentPrefix,
      progress,
      signal,
      onProblem: (document, reason) => log.warn("a page was not read", { document, reason }),
    });
    log.info("the empty collection was filled with the handbook", { passages: embedded });
  }
}

/** The engine's libraries are loaded by what needs them: a node whose models run elsewhere has them not. */
const readFacts = async (path: string): Promise<ModelFacts> =>
  await (await import("./engine/model-facts.ts")).readModelFacts(path);

const transcoded = async (path: string, options: TranscodeOptions): Promise<string> =>
  await (await import("./engine/transcode.ts")).transcode(path, options);

/** How often a store that is away is tried again. */
const retryMs = 2000;
