/** Composition root: a config becomes engines, a repository and services, and all of it is disposed again. */
import { join, resolve } from "node:path";
import { checkExposure } from "../config/consistency.ts";
import type { ModelConfig } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { ChatService } from "../core/chat/chat-service.ts";
import { GroundingService } from "../core/chat/grounding.ts";
import { EmbeddingService } from "../core/embedding/embedding-service.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { RateLimiter } from "../core/limits/rate-limiter.ts";
import type { Log } from "../core/log.ts";
import { isLoopback } from "../core/loopback.ts";
import { type EmbeddingModel, ModelRegistry } from "../core/models/model.ts";
import { ModelActivities } from "../core/models/model-activities.ts";
import type { CollectionStore } from "../core/ports/passage-repository.ts";
import type { Progress } from "../core/progress.ts";
import { checkReadiness } from "../core/readiness.ts";
import type { OpenCollection } from "../core/retrieval/collection.ts";
import { RetrievalService } from "../core/retrieval/retrieval-service.ts";
import type { Page } from "../ingest/handbook.ts";
import { type Hub, hubFrom } from "../models/sources/hub.ts";
import type { RegistryOf } from "../models/sources/npm/registry-settings.ts";
import type { Services } from "../server/app.ts";
import { Connections } from "../server/connections.ts";
import { keyAccess } from "../server/middleware/authentication.ts";
import { PromptLog } from "../server/middleware/prompt-log.ts";
import type { NodeIdentity } from "../server/operations/info/wire.ts";
import { metrics as metricsOperation } from "../server/operations/metrics/operation.ts";
import { keysFile, SqliteKeys } from "../store/keys/sqlite-keys.ts";
import { QdrantCollectionStore } from "../store/qdrant/qdrant-collection-store.ts";
import { SqliteCollectionStore } from "../store/sqlite/sqlite-collection-store.ts";
import { UnchangedCollectionStore } from "../store/sqlite/unchanged-collection-store.ts";
import type { Program } from "../subprocess/program.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { NodeTelemetry } from "../telemetry/node-telemetry.ts";
import { openRightsOf } from "./data-dir.ts";
import { NodeCollection } from "./node-collection.ts";
import { NodeModels } from "./node-models.ts";
import { toCallerLimits, toCollection, toModelBounds, toRagSettings } from "./node-settings.ts";

export interface NodeOptions {
  config: Config;
  /** What relative paths of the configuration start from. */
  baseDir: string;
  program: Program;
  version: string;
  /** The pages that an empty collection is filled with. */
  handbook: () => Promise<readonly Page[]>;
  /** Where models are fetched from; default: the public hub, without a token. */
  hub?: Hub;
  /** Which npm registry a package comes from; default: the one that the user's files name. */
  registryOf?: RegistryOf;
  log: Log;
  progress: Progress;
  /** How much memory this process holds, in bytes. */
  residentMemory: () => number;
}

export class PaddockNode implements AsyncDisposable {
  readonly services: Services;
  /** Where the server says what it knows of a request's connection. */
  readonly connections = new Connections();
  readonly #options: NodeOptions;
  readonly #models: ModelRegistry;
  readonly #activities: ModelActivities;
  readonly #telemetry: NodeTelemetry;
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
    this.#activities = new ModelActivities(config.models.map(toModelBounds));
    this.#retrieval = new RetrievalService(this.#models, toCollection(config), config.retrieval);
    this.#identity = { version, engineVersion: "not loaded yet", port: config.port };
    const isDraining = (): boolean => this.#isDraining;
    const parts = {
      models: this.#models,
      activities: this.#activities,
      retrieval: this.#retrieval,
      isDraining,
    };
    const metrics = new Metrics({
      models: config.models,
      activities: () => this.#activities.all(),
      build: () => ({ version, engine: this.#identity.engineVersion }),
      isReady: async () => (await checkReadiness(parts)).length === 0,
    });
    this.#telemetry = new NodeTelemetry(metrics);
    this.#resources.use(this.#telemetry.watchMemory("node", options.residentMemory));
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
      rateLimit: {
        // A clock that is set back or forth must not lock anybody out.
        limiter: new RateLimiter(() => performance.now()),
        connections: this.connections,
        callerLimits: toCallerLimits(config),
        connectionsPerClient: config.limits.connections_per_client,
        sharePrefixes: config.engine.share_prefixes,
      },
      stopping: this.#stopping.signal,
      isDraining,
      checkReadiness: (who) => checkReadiness(parts, who),
      metrics,
      telemetry: this.#telemetry,
      isOpen: config.auth.open,
      openOperations: config.metrics.open ? [metricsOperation.facts.name] : [],
      corsOrigins: config.http.cors_origins,
      ...(isLoopback(config.host) ? { allowedHosts: config.http.allowed_hosts } : {}),
      limits: {
        maxBodyBytes: config.limits.max_body_bytes,
        bodyTimeoutMs: config.limits.body_timeout * 1000,
        maxMessages: config.limits.max_messages,
        maxInputs: config.limits.max_inputs,
        requestTimeoutMs: config.limits.request_timeout * 1000,
        stallTimeoutMs: config.http.stall_timeout * 1000,
      },
      log,
      promptLog: config.log_prompts ? new PromptLog(log) : new PromptLog(),
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
    const { progress, config } = this.#options;
    const { models } = config;
    await this.#openTraces();
    this.#tellOpenRights();
    const loading = { progress, signal };
    const nodeModels = await this.#openModels(models);
    for (const model of models) {
      signal.throwIfAborted();
      this.#models.add(this.#activities.measured(await nodeModels.load(model, loading)));
      this.#identity.engineVersion = nodeModels.engineVersion;
    }
    const { reranker: source } = config.retrieval;
    const rest =
      source === undefined ? {} : { reranker: await nodeModels.loadReranker(source, loading) };
    const name = this.#retrieval.collection.embeddingModel;
    if (name === undefined) return;
    const untilStopped = AbortSignal.any([signal, this.#stopping.signal]);
    const embedding = this.#models.embedding(name);
    await this.#collection().attachTo(this.#retrieval, embedding, rest, untilStopped);
  }

  /** Opens only the collection and the model that fills it, for work that serves nobody. */
  async openCollection(
    signal: AbortSignal,
    { create = true } = {},
  ): Promise<OpenCollection & { embedding: EmbeddingModel }> {
    const embedding = await this.loadEmbedding(signal);
    const store = create
      ? this.collectionStore()
      : new UnchangedCollectionStore(this.collectionStore());
    return { embedding, ...(await this.#collection(store).open(embedding)) };
  }

  /** Loads only the model that fills the collection, or another one that is configured. */
  async loadEmbedding(
    signal: AbortSignal,
    name = this.#retrieval.collection.embeddingModel,
  ): Promise<EmbeddingModel> {
    const models = this.#options.config.models.filter(({ type }) => type === "embedding");
    const model = models.find((candidate) => candidate.name === name);
    if (model === undefined && models.length > 0) {
      throw new NodeError(
        "invalid_request",
        `There is no embedding model '${name}' in the configuration (${models.map((each) => each.name).join(", ")}).`,
      );
    }
    if (model === undefined) {
      throw new NodeError(
        "unavailable",
        'No embedding model is configured; a collection needs one: [[models]] type = "embedding".',
      );
    }
    const { progress } = this.#options;
    const nodeModels = await this.#openModels([model], "none");
    this.#models.add(await nodeModels.load(model, { progress, signal }));
    return this.#models.embedding(model.name);
  }

  /** The store of collections at an address; default: the configured one. */
  collectionStore(url = this.#options.config.vectorstore.url): CollectionStore {
    if (url === "embedded")
      return new SqliteCollectionStore(join(this.#dataDir, "collections"), this.#options.log);
    const { url: configured, api_key: apiKey, timeout } = this.#options.config.vectorstore;
    // One server's key is not shown to another.
    const isMeant = apiKey !== undefined && (configured === url || configured === "embedded");
    return new QdrantCollectionStore({
      url,
      timeoutMs: timeout * 1000,
      ...(isMeant ? { apiKey } : {}),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#resources.disposeAsync();
  }

  get #dataDir(): string {
    return resolve(this.#options.baseDir, this.#options.config.data_dir);
  }

  #tellOpenRights(): void {
    const rights = openRightsOf(this.#dataDir);
    if (rights === undefined) return;
    const remedy = `chmod 700 ${this.#dataDir}`;
    this.#options.log.warn("others on this machine can enter the data dir", { rights, remedy });
  }

  /** The libraries that make traces are loaded only where traces are wanted. */
  async #openTraces(): Promise<void> {
    const { config, version, log } = this.#options;
    const endpoint = config.telemetry.otlp_endpoint;
    if (endpoint === undefined) return;
    const { OtlpTraces } = await import("../telemetry/otlp-traces.ts");
    this.#telemetry.add(this.#resources.use(new OtlpTraces({ endpoint, version, log })));
  }

  async #openModels(
    models: readonly ModelConfig[],
    isolation?: Config["engine"]["isolation"],
  ): Promise<NodeModels> {
    const { config, baseDir, program, hub = hubFrom({}), registryOf, log } = this.#options;
    const telemetry = this.#telemetry;
    const dataDir = this.#dataDir;
    const fetching = { hub, ...given({ registryOf }) };
    const options = { config, baseDir, dataDir, program, ...fetching, telemetry, log };
    return this.#resources.use(await NodeModels.open(options, models, isolation));
  }

  #collection(store = this.collectionStore()): NodeCollection {
    const { config, handbook, log, progress } = this.#options;
    return this.#resources.use(new NodeCollection({ config, store, handbook, log, progress }));
  }
}
