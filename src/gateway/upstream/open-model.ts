/** Opens an upstream model: identifies its server, checks the model, and creates the engine. */
import { type EmbeddingPrefixes, knownPrefixes } from "../../core/embedding/embedding-prefixes.ts";
import { NodeError } from "../../core/errors.ts";
import type { LoadedModel, ModelSettings, ModelType } from "../../core/models/model.ts";
import { attempt, toNodeError, type Upstream } from "./ask.ts";
import { checkChat, upstreamChatEngine } from "./chat-engine.ts";
import { embedBatch, upstreamEmbeddingEngine } from "./embedding-engine.ts";
import { ConnectionFailure } from "./http-exchange.ts";
import { upstreamReranker } from "./reranker.ts";
import {
  askServer,
  ignoredSampling,
  kindNames,
  type ListedModel,
  type ServerFacts,
} from "./server-facts.ts";
import { chatCounter, textCounter, upstreamTokenizer } from "./tokenizer.ts";
import { readsImages } from "./vision.ts";

export interface UpstreamSpec {
  name: string;
  type: ModelType;
  /** `ctxSize` 0: what the server reports. */
  settings: ModelSettings;
  /** Whether a chat model reads images. Default: what its server says. */
  vision?: boolean;
  /** Prefixes for an embedding model's texts. Default: those known for its family. */
  prefixes?: Partial<EmbeddingPrefixes>;
}

/** A batch size that every server accepts. */
const assumedBatch = 32;

/** Throws if the server cannot be reached, rejects the key, or does not have the model. */
export async function openUpstreamModel(
  spec: UpstreamSpec,
  upstream: Upstream,
  signal: AbortSignal,
): Promise<LoadedModel> {
  const closing = new AbortController();
  // Requests end when the model is unloaded.
  upstream.closed = closing.signal;
  const facts = await serverFacts(upstream, signal);
  const asked = withModelThere(spec, upstream, facts);
  const listed = checkListed(spec, asked, facts);
  const contextSize = contextOf(spec, asked, facts, listed);
  const settings = { ...spec.settings, ctxSize: contextSize };
  const { kind, version, weights } = facts;
  const { upstreamModel: model, replicas } = asked;
  const common = (isCounted: boolean): Common => ({
    card: {
      name: spec.name,
      type: spec.type,
      createdAt: listed?.created === undefined ? new Date() : new Date(listed.created * 1000),
      ownedBy: listed?.ownedBy ?? "upstream",
      settings,
      upstream: {
        model,
        server: version === undefined ? kindNames[kind] : `${kindNames[kind]} ${version}`,
        tokens: isCounted ? "counted" : "estimated",
        urls: () => replicas.urls(),
      },
    },
    // Changes only with the model's upstream name, its server or the settings.
    fingerprint: `fp_${digest([model, kind, version, weights, settings]).slice(0, 12)}`,
    problem: () => replicas.problem(),
    [Symbol.asyncDispose]: async () =>
      closing.abort(new NodeError("unavailable", "The model is being unloaded.")),
  });
  const opening = { spec, upstream: asked, facts, listed, contextSize, signal, common };
  return await openers[spec.type](opening);
}

/** If no upstream name is configured, takes the server's model of this type, or its first. */
function withModelThere(
  { type }: UpstreamSpec,
  upstream: Upstream,
  { models = [] }: ServerFacts,
): Upstream {
  if (upstream.upstreamModel !== "") return upstream;
  const found = models.find((model) => model.type === type) ?? models[0];
  return { ...upstream, upstreamModel: found?.id ?? "" };
}

async function serverFacts(upstream: Upstream, signal: AbortSignal): Promise<ServerFacts> {
  const { named, key } = upstream;
  return await attempt(upstream, { signal }, async (lease) => {
    using _ = lease;
    return await askServer({ url: lease.url, signal, named, key }).catch((error: unknown) => {
      if (!(error instanceof ConnectionFailure)) throw error;
      // It answers at once or not at all, so a timeout is also a reason to try another.
      throw new ConnectionFailure(error.message, { cause: toNodeError(upstream, error) });
    });
  });
}

/** The fields of a model of any type. */
type Common = Pick<LoadedModel, "card" | "fingerprint" | "problem" | typeof Symbol.asyncDispose>;

interface Opening {
  spec: UpstreamSpec;
  upstream: Upstream;
  facts: ServerFacts;
  listed: ListedModel | undefined;
  contextSize: number;
  signal: AbortSignal;
  common: (isCounted: boolean) => Common;
}

const openers = { chat: openChat, embedding: openEmbedding, reranker: openReranker } as const;

async function openChat(opening: Opening): Promise<LoadedModel> {
  const { spec, upstream, facts, contextSize, signal, common } = opening;
  const { kind } = facts;
  await checkChat(upstream, signal);
  const count = await orEstimated(upstream, chatCounter(upstream, kind), (counter) =>
    counter([{ role: "user", content: "Hello" }], [], signal),
  );
  const isCounted = count !== undefined;
  const tokenizer = tokenizerOf(opening, isCounted);
  const engine = upstreamChatEngine(upstream, { kind, contextSize, count, tokenizer });
  const { card, ...rest } = common(isCounted);
  const vision = spec.vision ?? (await readsImages(upstream, kind, signal));
  return {
    ...{ type: "chat", engine, ignores: ignoredSampling(kind), ...rest },
    card: { ...card, vision },
  };
}

async function openEmbedding(opening: Opening): Promise<LoadedModel> {
  const { spec, upstream, facts, listed, contextSize, signal, common } = opening;
  const [probe] = await embedBatch(upstream, ["dimension"], { signal });
  const count = await orEstimated(upstream, textCounter(upstream, facts.kind), (counter) =>
    counter(["Hello"], signal),
  );
  const isCounted = count !== undefined;
  const engine = upstreamEmbeddingEngine(upstream, {
    dimension: probe?.vector.length ?? 0,
    maxTokens: contextSize,
    vocabularySize: listed?.vocabularySize ?? Number.MAX_SAFE_INTEGER,
    maxBatch: Math.min(facts.maxBatch ?? assumedBatch, assumedBatch),
    count,
    tokenizer: tokenizerOf(opening, isCounted),
    askMaxTokens: () => smallestContext(upstream, upstream.closed ?? signal),
  });
  const { upstreamModel } = upstream;
  const known = knownPrefixes([spec.name, upstreamModel]);
  return {
    type: "embedding",
    engine,
    ...common(isCounted),
    identity: {
      model: spec.name,
      // The weights cannot be inspected; a server that identifies them is trusted.
      fingerprint: digest(["upstream", upstreamModel, facts.weights ?? ""]).slice(0, 32),
      queryPrefix: spec.prefixes?.query ?? known.query,
      documentPrefix: spec.prefixes?.document ?? known.document,
    },
  };
}

async function openReranker(opening: Opening): Promise<LoadedModel> {
  const { upstream, facts, contextSize, signal, common } = opening;
  const engine = upstreamReranker(upstream, facts, contextSize);
  await engine.rank("Does it rank?", ["It ranks."], { signal, cutsQuestion: true });
  return { type: "reranker", engine, ...common(engine.countsTokens()) };
}

/** A server that refuses to count does not tokenize either. Paddock nodes are never asked. */
const tokenizerOf = ({ upstream, facts: { kind }, contextSize }: Opening, isCounted: boolean) =>
  isCounted || kind === "paddock" ? upstreamTokenizer(upstream, kind, contextSize) : undefined;

/** The counter if it works: a server may not have one, or a proxy may not forward it. */
async function orEstimated<Counter>(
  { named, log }: Upstream,
  counter: Counter | undefined,
  attempt: (counter: Counter) => Promise<unknown>,
): Promise<Counter | undefined> {
  let why = "such a server counts none";
  try {
    if (counter !== undefined) await attempt(counter);
    if (counter !== undefined) return counter;
  } catch (error) {
    if (!(error instanceof NodeError) || error.kind !== "upstream_refused") throw error;
    why = "it refuses to";
  }
  const fields = { of: named, why };
  log.info("tokens of an upstream model are estimated, rather too many than too few", fields);
  return undefined;
}

/** The context size if neither the server nor the configuration names one. */
const assumedContext = { chat: 4096, embedding: 512, reranker: 512 } as const;

/** llama-server and TEI serve one model, under any name. */
function findListed(name: string, { kind, models }: ServerFacts): ListedModel | undefined {
  const listed = models?.find(({ id }) => id === name);
  return listed ?? (kind === "llama-server" || kind === "tei" ? models?.[0] : undefined);
}

/** The server's entry for the model; throws if it has others only. */
function checkListed(
  { type }: UpstreamSpec,
  { named, upstreamModel }: Upstream,
  { kind, models }: ServerFacts,
): ListedModel | undefined {
  const listed = findListed(upstreamModel, { kind, models });
  if (kind === "llama-server" || kind === "tei") return listed;
  if (models === undefined) return undefined;
  if (listed === undefined) {
    const names = models.slice(0, mostNamed).map(({ id }) => `'${id}'`);
    throw new NodeError(
      "upstream_refused",
      `The server of ${named} does not know a model '${upstreamModel}'; it has ${names.join(", ") || "none"}. Correct 'upstream_model'.`,
    );
  }
  if (listed.type !== undefined && listed.type !== type) {
    throw new NodeError(
      "upstream_refused",
      `The server of ${named} has '${upstreamModel}' as a model of type '${listed.type}'; it is configured as '${type}'.`,
    );
  }
  return listed;
}

const mostNamed = 8;

/** The server's context size, or the configured one if it is smaller. */
function contextOf(
  { type, settings: { ctxSize } }: UpstreamSpec,
  { named, log }: Upstream,
  facts: ServerFacts,
  listed: ListedModel | undefined,
): number {
  const theirs = theirContext(facts, listed);
  if (theirs !== undefined && ctxSize > theirs) {
    const fields = { of: named, ctx_size: ctxSize, theirs };
    log.warn("ctx_size is more than an upstream model's context", fields);
  }
  if (theirs !== undefined) return ctxSize === 0 ? theirs : Math.min(ctxSize, theirs);
  if (ctxSize > 0) return ctxSize;
  const assumed = assumedContext[type];
  const fields = { of: named, assumed };
  log.warn("the context size of an upstream model is not known; set 'ctx_size'", fields);
  return assumed;
}

const theirContext = (facts: ServerFacts, listed: ListedModel | undefined): number | undefined =>
  listed?.contextSize ?? facts.contextSize;

/** Of the servers that answer now and say it. */
async function smallestContext(
  { upstreamModel, named, key, replicas }: Upstream,
  signal: AbortSignal,
): Promise<number | undefined> {
  const sizes = await Promise.all(
    replicas.urls().map(async (url) => {
      const facts = await askServer({ url, signal, named, key }).catch(() => undefined);
      return facts && theirContext(facts, findListed(upstreamModel, facts));
    }),
  );
  const known = sizes.filter((size) => size !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

const digest = (parts: unknown): string =>
  new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex");
