/** Composition root: creates engines, repositories and services from the configuration, and disposes of them. */
import { join } from "node:path";
import { checkExposure } from "../config/consistency.ts";
import { isUpstream } from "../config/model-schema.ts";
import type { Config } from "../config/schema.ts";
import { isLoopback } from "../core/address-range.ts";
import { ChatService } from "../core/chat/chat-service.ts";
import { GroundingService } from "../core/chat/grounding.ts";
import { ImageFiles } from "../core/chat/images.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import type { KeyRing } from "../core/limits/api-key.ts";
import { RateLimiter } from "../core/limits/rate-limiter.ts";
import type { ModelCard } from "../core/models/model.ts";
import { ModelActivities } from "../core/models/model-activity.ts";
import { ModelRegistry } from "../core/models/model-registry.ts";
import { checkReadiness, type SharedReport } from "../core/readiness.ts";
import { RetrievalService } from "../core/retrieval/retrieval-service.ts";
import { TrustedClock } from "../core/trusted-clock.ts";
import type { McpDocuments } from "../mcp/resources.ts";
import type { Services } from "../server/app.ts";
import { Connections } from "../server/listen.ts";
import { keyAccess, withoutGuessing } from "../server/middleware/authentication.ts";
import type { McpEndpoint } from "../server/operations/mcp.ts";
import { keysFile, SqliteKeys, waitOfNodeMs } from "../store/keys/sqlite-keys.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { NodeCollectionOptions } from "./documents/node-collection.ts";
import { NodeDocuments } from "./documents/node-documents.ts";
import type { SharedState } from "./gateway/shared-state.ts";
import { FolderLibrary, type FolderState, readFolder } from "./models/model-library.ts";
import { type PreparedParts, prepareModels } from "./models/prepare-models.ts";
import { NodeResponses } from "./node-responses.ts";
import {
  dataDirOf,
  type ModelOptions,
  openRightsOf,
  toCallerLimits,
  toCollection,
  toModelBounds,
  toRagSettings,
  toRequestLimits,
  toSharedServer,
} from "./node-settings.ts";

export interface NodeOptions extends ModelOptions, NodeCollectionOptions {
  version: string;
  residentMemory: () => number;
}

/** The parts of the gateway that the configuration needs; others are not loaded. */
interface Gateway {
  limits: RateLimiter;
  shared: SharedState | undefined;
  upstreams: typeof import("./gateway/upstream-models.ts") | undefined;
}

export class PaddockNode implements AsyncDisposable {
  readonly services: Services;
  /** The server records here what it knows about a request's connection. */
  readonly connections: Connections;
  readonly #parts: PreparedParts;
  readonly #keys: KeyRing;
  readonly #keysFile: string;
  readonly #shared: SharedState | undefined;
  readonly #responses: NodeResponses;
  readonly #stopping = new AbortController();
  #isDraining = false;

  /** Loads the gateway only for a node that has upstreams or shares its keys and limits. */
  static async create(configured: NodeOptions): Promise<PaddockNode> {
    const folder = await readFolder(configured);
    const { config } = folder;
    const options = { ...configured, config };
    const { log } = options;
    // A monotonic clock: setting the machine's clock must not lock anybody out.
    const limits = new RateLimiter(() => performance.now());
    const server = toSharedServer(config);
    let shared: SharedState | undefined;
    if (server !== undefined) {
      const { SharedState } = await import("./gateway/shared-state.ts");
      shared = new SharedState({ server, config, own: limits, log });
    }
    const hasUpstreams = config.models.some(({ source }) => isUpstream(source));
    const upstreams = hasUpstreams ? await import("./gateway/upstream-models.ts") : undefined;
    return new PaddockNode(options, folder, { limits, shared, upstreams });
  }

  private constructor(
    options: NodeOptions,
    folder: FolderState,
    { limits, shared, upstreams }: Gateway,
  ) {
    const { config, version, log, secretOf } = options;
    const resources = new AsyncDisposableStack();
    const models = new ModelRegistry(config.models);
    const activities = new ModelActivities(config.models.map(toModelBounds));
    const retrieval = new RetrievalService(models, toCollection(config), config.retrieval);
    const clock = new TrustedClock(log);
    const identity = { version, engineVersion: "not loaded yet", port: config.port };
    const coming = new Map<string, string>();
    this.connections = new Connections(config.http.trusted_proxies);
    this.#shared = shared && resources.use(shared);
    this.#keysFile = join(dataDirOf(config, options.baseDir), keysFile);
    const own = new SqliteKeys(this.#keysFile, { waitMs: waitOfNodeMs });
    this.#keys = shared?.keys ?? resources.use(own);
    const quotaOf = (owner: string) => this.#keys.byId(owner)?.quota ?? {};
    const nodeDocuments = resources.use(
      new NodeDocuments({ ...options, models, retrieval, clock, quotaOf }),
    );
    const { documents } = nodeDocuments;
    const timeoutMs = (): number => this.services.limits.requestTimeoutMs;
    this.#responses = resources.use(new NodeResponses({ ...options, timeoutMs, clock }));
    const isDraining = (): boolean => this.#isDraining;
    const readiness = {
      ...{ models, activities, retrieval, coming, isDraining },
      documents: documents.state,
      responses: this.#responses.responses.state,
      keys: shared?.report.bind(shared) ?? (() => toReport(own.problem(), config)),
    };
    const metrics = createMetrics({
      models: config.models.map(({ name, type, source }) => ({
        name,
        type,
        place: isUpstream(source) ? "upstream" : "local",
      })),
      activities: () => activities.all(),
      build: () => ({ version, engine: identity.engineVersion }),
      isReady: async () => (await checkReadiness(readiness)).problems.length === 0,
      documentsQueued: () => nodeDocuments.queued(),
      ...(shared === undefined ? {} : { shared: () => shared.numbers }),
    });
    const stopping = this.#stopping.signal;
    const library = new FolderLibrary(
      { options, models, activities, telemetry: metrics, stopping },
      folder,
    );
    const replicas = { config, telemetry: metrics.replicas, log, ...given({ secretOf }) };
    this.#parts = {
      ...{ options, models, activities, retrieval, identity, coming, resources },
      telemetry: metrics,
      upstreams: upstreams && resources.use(new upstreams.UpstreamModels(replicas)),
      documents: nodeDocuments,
      library,
      stopping,
    };
    resources.use(metrics.watchMemory("node", options.residentMemory));
    const requestLimits = toRequestLimits(config);
    this.services = {
      chat: new ChatService(
        models,
        new GroundingService(retrieval, toRagSettings(config), log),
        new ImageFiles(documents.files, requestLimits),
      ),
      retrieval,
      ...documents,
      responses: this.#responses.responses,
      conversations: this.#responses.conversations,
      mcp: mcpEndpoint(version, { ...documents, retrieval }),
      models,
      library,
      identity: () => identity,
      access: withoutGuessing(keyAccess(config.auth.api_keys, this.#keys), {
        connections: this.connections,
        log,
        now: () => performance.now(),
      }),
      rateLimit: {
        limiter: shared?.limiter ?? limits,
        addresses: limits,
        connections: this.connections,
        callerLimits: toCallerLimits(config),
        connectionsPerClient: config.limits.connections_per_client,
        sharePrefixes: config.engine.share_prefixes,
      },
      stopping,
      isDraining,
      checkReadiness: (who) => checkReadiness(readiness, who),
      metrics,
      telemetry: metrics,
      isOpen: config.auth.open,
      openOperations: config.metrics.open ? ["metrics"] : [],
      corsOrigins: config.http.cors_origins,
      looksLikeOllama: config.http.ollama ?? isLoopback(config.host),
      ...(isLoopback(config.host) ? { allowedHosts: config.http.allowed_hosts } : {}),
      limits: requestLimits,
      log,
      logsPrompts: config.log_prompts,
    };
  }

  /** Reads the shared state; a server that is unavailable is retried in the background. */
  async open(): Promise<void> {
    const shared = this.#shared;
    if (shared === undefined) return;
    await shared.open();
    for (const { message, remedy } of shared.notices(this.#dataDir)) {
      this.#parts.options.log.warn(message, { remedy });
    }
  }

  checkExposure(): void {
    // Nobody waits for an answer yet, so locks of other processes are waited for.
    using patient = this.#shared === undefined ? new SqliteKeys(this.#keysFile) : undefined;
    patient?.hasKeys();
    checkExposure(this.#parts.options.config, this.#keys.hasKeys());
  }

  /** Applies the settings that a running node can change; requests in progress keep theirs. */
  apply(config: Config): void {
    const { rateLimit, limits } = this.services;
    rateLimit.callerLimits = toCallerLimits(config);
    rateLimit.connectionsPerClient = config.limits.connections_per_client;
    Object.assign(limits, toRequestLimits(config));
    this.#parts.upstreams?.apply(config);
  }

  /** The chat model for clients without a choice of their own; undefined until one is ready. */
  get defaultChat(): ModelCard | undefined {
    return this.#parts.models.cards().find(({ type }) => type === "chat");
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** Ends every answer in progress with an error that names the reason. */
  stop(): void {
    this.#stopping.abort(new NodeError("unavailable", "The node is stopping. Try again later."));
  }

  listensOn(port: number): void {
    this.#parts.identity.port = port;
  }

  /** Prepares every model and the collection; each answers when it is ready. `onOpen`: chat models answer. */
  async prepare(signal: AbortSignal, onOpen: () => void = () => {}): Promise<void> {
    const { telemetry, resources, options } = this.#parts;
    const { config, version, log } = options;
    const endpoint = config.telemetry.otlp_endpoint;
    if (endpoint !== undefined) {
      const { OtlpTraces } = await import("../telemetry/otlp-traces.ts");
      telemetry.watchers.push(resources.use(new OtlpTraces({ endpoint, version, log })));
    }
    const rights = openRightsOf(this.#dataDir);
    if (rights !== undefined) {
      const remedy = `chmod 700 ${this.#dataDir}`;
      log.warn("others on this machine can enter the data dir", { rights, remedy });
    }
    resources.use(this.#responses.start(this.#stopping.signal));
    await prepareModels(this.#parts, signal, onOpen);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#parts.resources.disposeAsync();
  }

  get #dataDir(): string {
    const { config, baseDir } = this.#parts.options;
    return dataDirOf(config, baseDir);
  }
}

/** Keys of the configuration still open a node whose others are away. */
const toReport = (problem: string | undefined, { auth }: Config): SharedReport =>
  auth.api_keys.length === 0 ? given({ problem }) : given({ note: problem });

/** MCP over HTTP; its libraries are loaded with the first request. */
export const mcpEndpoint = (version: string, documents: McpDocuments): McpEndpoint => ({
  async answer(request, session) {
    const { answerOverHttp } = await import("../mcp/server.ts");
    return await answerOverHttp(request, { version, session, documents: async () => documents });
  },
});
