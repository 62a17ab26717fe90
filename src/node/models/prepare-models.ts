/** Loads a node's models, chat first, then the collection that one of them fills. */
import { setTimeout as sleep } from "node:timers/promises";
import { isUpstream, type ModelConfig } from "../../config/model-schema.ts";
import { asNodeError, NodeError, reasonOf } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { LoadedModel } from "../../core/models/model.ts";
import type { ModelActivities } from "../../core/models/model-activity.ts";
import type { ModelRegistry } from "../../core/models/model-registry.ts";
import type { EmbeddingEngine } from "../../core/ports/embedding-engine.ts";
import type { LoadOptions } from "../../core/ports/model-host.ts";
import type { OpenCollection } from "../../core/retrieval/collection.ts";
import type { RetrievalService } from "../../core/retrieval/retrieval-service.ts";
import type { NodeIdentity } from "../../server/operations/node/operation.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { NodeCollection } from "../documents/node-collection.ts";
import type { NodeDocuments } from "../documents/node-documents.ts";
import { QuietTimes, yieldingEngine } from "../documents/quiet-times.ts";
import type { UpstreamModels } from "../gateway/upstream-models.ts";
import type { NodeOptions } from "../paddock-node.ts";
import type { FolderLibrary } from "./model-library.ts";
import { NodeModels } from "./node-models.ts";

export interface PreparedParts {
  options: NodeOptions;
  models: ModelRegistry;
  activities: ModelActivities;
  telemetry: Metrics;
  /** Undefined if every model runs on this machine. */
  upstreams: UpstreamModels | undefined;
  retrieval: RetrievalService;
  documents: NodeDocuments;
  library: FolderLibrary;
  identity: NodeIdentity;
  /** What is still in progress, a sentence for each model. */
  coming: Map<string, string>;
  resources: AsyncDisposableStack;
  stopping: AbortSignal;
}

interface Background {
  quiet: QuietTimes;
  /** For work that a user waits for. */
  betweenRequests: QuietTimes;
  signal: AbortSignal;
}

const noEngine = "none: models run upstream";

/** `onOpen` is called as soon as chat models answer. */
export async function prepareModels(
  parts: PreparedParts,
  signal: AbortSignal,
  onOpen: () => void,
): Promise<void> {
  const { options, telemetry, upstreams, resources, activities, identity } = parts;
  const { models } = options.config;
  const local = models.filter(({ source }) => !isUpstream(source));
  const upstream = models.filter(({ source }) => isUpstream(source));
  const loading = { progress: options.progress, signal };
  const nodeModels = resources.use(
    await NodeModels.open({ ...options, telemetry, ...given({ upstreams }) }, models),
  );
  await parts.library.chooseDefault();
  parts.library.open({
    async load(model, options) {
      const loaded = await nodeModels.load(model, options);
      identity.engineVersion = nodeModels.engineVersion;
      return loaded;
    },
  });
  /** Unmeasured engines: the node's own work does not count as requests. */
  const engines = new Map<string, EmbeddingEngine>();
  let isOpen = false;
  let collection: Promise<void> | undefined;
  const onLoaded = (model: LoadedModel): void => {
    const { name, upstream } = model.card;
    parts.models.add(activities.measured(model));
    if (model.type === "embedding") engines.set(name, model.engine);
    // Not after the chat models: the handbook should be stored before the first chat.
    if (name === parts.retrieval.collection.embeddingModel && upstream === undefined) {
      collection = prepareCollection(parts, nodeModels, engines, background);
      collection.catch(() => {}); // awaited below, unless a model cannot be loaded
    }
    identity.engineVersion = local.length === 0 ? noEngine : nodeModels.engineVersion;
  };
  const onWaiting = (model: string, reason: NodeError): void =>
    parts.models.unavailable(model, reason);
  const background: Background = {
    // A user who starts a node waits for chat, so background work comes after it.
    quiet: new QuietTimes({ isBusy: () => !isOpen || activities.isBusy }),
    betweenRequests: new QuietTimes({ isBusy: () => activities.isBusy, quietMs: 1 }),
    signal: AbortSignal.any([signal, parts.stopping]),
  };
  const tried = upstreams?.openAll(upstream, { onLoaded, onWaiting }, background.signal);
  await loadModels(nodeModels, local, loading, {
    onLoaded,
    onOpen: async () => {
      await tried;
      isOpen = true;
      onOpen();
    },
  });
  await tried;
  await (collection ?? prepareCollection(parts, nodeModels, engines, background));
  const onBetter = (model: LoadedModel): void => parts.models.add(activities.measured(model));
  const onProgress = (model: string, done: number): void => {
    const share = `${Math.floor(done * 100)} %`;
    const notice = `The weights of the model '${model}' are being made faster: ${share}. It answers meanwhile.`;
    parts.coming.set(model, notice);
  };
  const onEnd = (model: string): void => void parts.coming.delete(model);
  const improving = nodeModels.improve({ ...background, onBetter, onProgress, onEnd });
  resources.defer(() => improving);
}

async function prepareCollection(
  { options, models, retrieval, documents, upstreams, resources }: PreparedParts,
  nodeModels: NodeModels,
  engines: ReadonlyMap<string, EmbeddingEngine>,
  background: Background,
): Promise<void> {
  const { log } = options;
  const { name, embeddingModel: model } = retrieval.collection;
  if (model === undefined) return;
  const { quiet, betweenRequests, signal } = background;
  const attach = async (): Promise<void> => {
    const embedding = models.embedding(model);
    const engine = engines.get(model) ?? embedding.engine;
    const { withHandbookVectors } = await import("../../ingest/handbook-vectors.ts");
    const slowly = yieldingEngine(engine, { quiet, texts: 4, isBackground: true });
    const fillingEngine = withHandbookVectors(slowly, embedding.identity.fingerprint);
    const texts = Math.max(4, nodeModels.threads);
    const uploadEngine = yieldingEngine(engine, { quiet: betweenRequests, texts });
    const onOpen = (open: OpenCollection) => documents.documents.collections.attach(name, open);
    const parts = { ...options, retrieval, embedding, fillingEngine, onOpen, signal };
    await resources.use(new NodeCollection(parts)).open();
    resources.use(documents.start(uploadEngine, signal));
  };
  if (engines.has(model)) return await attach();
  // The upstream model is not reachable yet: the node serves meanwhile, and reports why there is no collection.
  const reason = `The collection waits for its embedding model '${model}', which is not ready.`;
  retrieval.unavailable(new NodeError("unavailable", reason));
  const attachLater = async (): Promise<void> => {
    await upstreams?.opened(model);
    if (!signal.aborted) await attach();
  };
  void attachLater().catch((error: unknown) => {
    if (signal.aborted) return;
    log.error("the collection cannot be opened", { reason: reasonOf(error) });
    retrieval.unavailable(asNodeError(error, "The collection cannot be opened"));
  });
}

export interface LoadingListener {
  onLoaded: (model: LoadedModel) => void;
  /** Called once, when chat is open or, without a chat model, when everything is. */
  onOpen: () => void | Promise<void>;
}

/** Head start for a chat model whose file is there, so that it is loaded first: users wait for chat. */
const headStartMs = 250;

/** Loads types in parallel, since quantizing takes seconds; of one type in turn: two large ones must not be quantized at once. */
export async function loadModels(
  nodeModels: Pick<NodeModels, "load">,
  models: readonly ModelConfig[],
  loading: LoadOptions,
  { onLoaded, onOpen }: LoadingListener,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([loading.signal, failed.signal]);
  const loadAll = async (type: ModelConfig["type"]): Promise<void> => {
    try {
      for (const model of models.filter((one) => one.type === type)) {
        signal.throwIfAborted();
        onLoaded(await nodeModels.load(model, { ...loading, signal }));
      }
    } catch (error) {
      // Ends the other loads too, with this error as their reason.
      failed.abort(error);
      throw error;
    }
  };
  const hasChat = models.some(({ type }) => type === "chat");
  const chat = loadAll("chat");
  const headStart = hasChat ? Promise.race([chat, sleep(headStartMs)]) : undefined;
  const embedding = Promise.allSettled([headStart])
    .then(() => loadAll("embedding"))
    .then(() => loadAll("reranker"));
  const open = (hasChat ? chat : embedding).then(onOpen);
  const outcomes = await Promise.allSettled([open, chat, embedding]);
  if (failed.signal.aborted) throw failed.signal.reason;
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
