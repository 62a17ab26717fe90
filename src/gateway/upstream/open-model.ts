/** A model that runs elsewhere becomes one of the node's: its server is asked what it is, once it can be. */
import { type EmbeddingPrefixes, knownPrefixes } from "../../core/embedding/embedding-prefixes.ts";
import { NodeError } from "../../core/errors.ts";
import { given } from "../../core/given.ts";
import type { LoadedModel, ModelCard, ModelSettings, ModelType } from "../../core/models/model.ts";
import type { Tokenizer } from "../../core/ports/tokenizer.ts";
import { notBegun, refusedBy, toNodeError, type Upstream } from "./ask.ts";
import { checkChat, UpstreamChatEngine } from "./chat-engine.ts";
import { embedBatch, UpstreamEmbeddingEngine } from "./embedding-engine.ts";
import { ConnectionFailure } from "./http-exchange.ts";
import { UpstreamReranker } from "./reranker.ts";
import {
  askServer,
  ignoredSampling,
  kindNames,
  type ListedModel,
  type ServerFacts,
  type ServerKind,
} from "./server-facts.ts";
import { chatCounter, textCounter } from "./token-counts.ts";
import { upstreamTokenizer } from "./tokenizer.ts";

export interface UpstreamSpec {
  name: string;
  type: ModelType;
  /** `ctxSize` 0: what the server says. */
  settings: ModelSettings;
  /** What an embedding model wants before texts; what is absent is taken from what is known of its family. */
  prefixes?: Partial<EmbeddingPrefixes>;
}

/** As many texts as any server takes. */
const assumedBatch = 32;

/** Throws where the server cannot be asked, does not take the key, or does not know the model. */
export async function openUpstreamModel(
  spec: UpstreamSpec,
  target: Upstream,
  signal: AbortSignal,
): Promise<LoadedModel> {
  const facts = await serverFacts(target, signal);
  const asked = withModelThere(spec, target, facts);
  const listed = checkListed(spec, asked, facts);
  const settings = { ...spec.settings, ctxSize: contextOf(spec, asked, facts, listed) };
  return await openers[spec.type]({ ...spec, settings }, asked, { facts, listed, signal });
}

/** A server is asked for the model that it has, where nobody says what it is called there. */
function withModelThere(
  { type }: UpstreamSpec,
  target: Upstream,
  { models = [] }: ServerFacts,
): Upstream {
  if (target.upstreamModel !== "") return target;
  const found = models.find((model) => model.type === type) ?? models[0];
  return { ...target, upstreamModel: found?.id ?? "" };
}

async function serverFacts(target: Upstream, signal: AbortSignal): Promise<ServerFacts> {
  const { replicas, named, key } = target;
  return await replicas.attempt({ isRepeatable: true, signal }, async (lease) => {
    const { url } = lease.replica;
    const question = { url, signal, named, ...given({ key }) };
    const facts = await askServer(question).catch((error: unknown) => {
      if (error instanceof NodeError) throw refusedBy(lease, error);
      // It answers at once or not at all, so that silence, too, is a reason to ask another.
      if (!(error instanceof ConnectionFailure)) throw error;
      throw notBegun(lease, toNodeError(target, error), error.message);
    });
    lease.succeeded();
    lease[Symbol.dispose]();
    return facts;
  });
}

interface Opening {
  facts: ServerFacts;
  listed: ListedModel | undefined;
  signal: AbortSignal;
}

async function openChat(
  spec: UpstreamSpec,
  target: Upstream,
  { facts, listed, signal }: Opening,
): Promise<LoadedModel> {
  const { kind } = facts;
  await checkChat(target, signal);
  const count = await orEstimated(target, chatCounter(target, kind), (counter) =>
    counter([{ role: "user", content: "Hello" }], [], signal),
  );
  const { ctxSize: contextSize } = spec.settings;
  const tokenizer = tokenizerOf(target, { kind, contextSize, isCounted: count !== undefined });
  const told = given({ count, tokenizer });
  const engine = new UpstreamChatEngine(target, { kind, contextSize, ...told });
  return {
    type: "chat",
    card: cardOf(spec, target, { facts, listed, isCounted: count !== undefined }),
    engine,
    fingerprint: fingerprintOf(spec, target, facts),
    ignores: ignoredSampling(kind),
    problem: () => target.replicas.problem(),
    [Symbol.asyncDispose]: async () => engine.close(),
  };
}

async function openEmbedding(
  spec: UpstreamSpec,
  target: Upstream,
  { facts, listed, signal }: Opening,
): Promise<LoadedModel> {
  const [probe] = await embedBatch(target, ["dimension"], { signal });
  const count = await orEstimated(target, textCounter(target, facts.kind), (counter) =>
    counter(["Hello"], signal),
  );
  const { kind } = facts;
  const { ctxSize: contextSize } = spec.settings;
  const tokenizer = tokenizerOf(target, { kind, contextSize, isCounted: count !== undefined });
  const engine = new UpstreamEmbeddingEngine(target, {
    dimension: probe?.vector.length ?? 0,
    maxTokens: spec.settings.ctxSize,
    vocabularySize: listed?.vocabularySize ?? Number.MAX_SAFE_INTEGER,
    maxBatch: Math.min(facts.maxBatch ?? assumedBatch, assumedBatch),
    ...given({ count, tokenizer }),
  });
  const { upstreamModel } = target;
  const known = knownPrefixes([spec.name, upstreamModel]);
  return {
    type: "embedding",
    card: cardOf(spec, target, { facts, listed, isCounted: count !== undefined }),
    engine,
    fingerprint: fingerprintOf(spec, target, facts),
    identity: {
      model: spec.name,
      // Nobody sees the weights; a server that says which they are is believed.
      fingerprint: digest(["upstream", upstreamModel, facts.weights ?? ""]).slice(0, 32),
      queryPrefix: spec.prefixes?.query ?? known.query,
      documentPrefix: spec.prefixes?.document ?? known.document,
    },
    problem: () => target.replicas.problem(),
    [Symbol.asyncDispose]: async () => engine.close(),
  };
}

async function openReranker(
  spec: UpstreamSpec,
  target: Upstream,
  { facts, listed, signal }: Opening,
): Promise<LoadedModel> {
  const engine = new UpstreamReranker(target, { facts, maxTokens: spec.settings.ctxSize });
  await engine.rank("Does it rank?", ["It ranks."], { signal, cutsQuestion: true });
  return {
    type: "reranker",
    card: cardOf(spec, target, { facts, listed, isCounted: engine.countsTokens }),
    engine,
    fingerprint: fingerprintOf(spec, target, facts),
    problem: () => target.replicas.problem(),
    [Symbol.asyncDispose]: async () => engine.close(),
  };
}

const openers = { chat: openChat, embedding: openEmbedding, reranker: openReranker } as const;

/** A server that refuses to count does not tell its tokens either; a node of this program is not asked to count. */
function tokenizerOf(
  target: Upstream,
  { kind, contextSize, isCounted }: { kind: ServerKind; contextSize: number; isCounted: boolean },
): Tokenizer | undefined {
  if (!isCounted && kind !== "paddock") return undefined;
  return upstreamTokenizer(target, kind, contextSize);
}

/** The counter, where it counts; a server may be without, or behind something that does not pass it on. */
async function orEstimated<Counter>(
  { named, log }: Upstream,
  counter: Counter | undefined,
  attempt: (counter: Counter) => Promise<unknown>,
): Promise<Counter | undefined> {
  const why = counter === undefined ? "such a server counts none" : "it refuses to";
  try {
    if (counter !== undefined) await attempt(counter);
    if (counter !== undefined) return counter;
  } catch (error) {
    if (!(error instanceof NodeError) || error.kind !== "upstream_refused") throw error;
  }
  log.info("tokens of a model elsewhere are estimated, rather too many than too few", {
    of: named,
    why,
  });
  return undefined;
}

// What a server says of the model that it is asked for, against what the configuration says.

/** Tokens that are taken to fit where neither the server nor the configuration says so. */
const assumedContext = { chat: 4096, embedding: 512, reranker: 512 } as const;

/** What the server says of the model; llama-server and TEI serve one model, whatever they are asked for. */
export function checkListed(
  { type }: UpstreamSpec,
  { named, upstreamModel }: Upstream,
  { kind, models }: ServerFacts,
): ListedModel | undefined {
  const listed = models?.find(({ id }) => id === upstreamModel);
  if (kind === "llama-server" || kind === "tei") return listed ?? models?.[0];
  if (models === undefined) return undefined;
  if (listed === undefined) {
    const names = models
      .slice(0, mostNamed)
      .map(({ id }) => `'${id}'`)
      .join(", ");
    throw new NodeError(
      "upstream_refused",
      `The server of ${named} does not know a model '${upstreamModel}'; it has ${names || "none"}. Correct 'upstream_model'.`,
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

/** The server's, or less where the configuration says so. */
export function contextOf(
  { type, settings: { ctxSize } }: UpstreamSpec,
  { named, log }: Upstream,
  facts: ServerFacts,
  listed: ListedModel | undefined,
): number {
  const theirs = listed?.contextSize ?? facts.contextSize;
  if (theirs !== undefined && ctxSize > theirs) {
    log.warn("ctx_size is more than the server of a model takes", {
      of: named,
      ctx_size: ctxSize,
      theirs,
    });
  }
  if (theirs !== undefined) return ctxSize === 0 ? theirs : Math.min(ctxSize, theirs);
  if (ctxSize > 0) return ctxSize;
  const assumed = assumedContext[type];
  log.warn("nobody says how many tokens a model elsewhere takes; set 'ctx_size'", {
    of: named,
    assumed,
  });
  return assumed;
}

/** What a node tells of a model that runs elsewhere. */

interface Known {
  facts: ServerFacts;
  listed: ListedModel | undefined;
  isCounted: boolean;
}

export function cardOf(
  { name, type, settings }: UpstreamSpec,
  { upstreamModel, replicas }: Upstream,
  { facts, listed, isCounted }: Known,
): ModelCard {
  const { kind, version } = facts;
  const server = version === undefined ? kindNames[kind] : `${kindNames[kind]} ${version}`;
  return {
    name,
    type,
    createdAt: listed?.created === undefined ? new Date() : new Date(listed.created * 1000),
    ownedBy: listed?.ownedBy ?? "upstream",
    settings,
    upstream: {
      model: upstreamModel,
      server,
      tokens: isCounted ? "counted" : "estimated",
      urls: () => replicas.all().map(({ url }) => url),
    },
  };
}

/** Changes only when the model's name there, its server or the settings do. */
export const fingerprintOf = (
  { settings }: UpstreamSpec,
  { upstreamModel }: Upstream,
  { kind, version, weights }: ServerFacts,
): string => `fp_${digest([upstreamModel, kind, version, weights, settings]).slice(0, 12)}`;

export const digest = (parts: unknown): string =>
  new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex");
