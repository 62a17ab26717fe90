/** What a server elsewhere says of itself: what it is, what it serves, and how much it takes. */
import { given } from "../core/given.ts";
import { ConnectionFailure } from "./connection-failure.ts";
import { exchange } from "./http-exchange.ts";
import { countAt, listAt, objectAt, parseJson, textAt } from "./json-fields.ts";
import { readText } from "./read-body.ts";
import { toRefusal } from "./refusal.ts";
import type { ServerKind } from "./server-kind.ts";
import { rootOf } from "./upstream-target.ts";

export interface ServerFacts {
  kind: ServerKind;
  version?: string;
  /** Absent where it lists none. */
  models?: readonly ListedModel[];
  /** Of whatever model it serves. */
  contextSize?: number;
  /** Most texts of a request. */
  maxBatch?: number;
  /** What tells its weights from others, where it says so. */
  weights?: string;
}

export interface ListedModel {
  id: string;
  contextSize?: number;
  vocabularySize?: number;
  /** Unix time in seconds. */
  created?: number;
  ownedBy?: string;
  /** `chat`, `embedding` or `reranker`, where it says so. */
  type?: string;
}

export interface ServerQuestion {
  url: string;
  key?: string;
  signal: AbortSignal;
  /** The model, in a sentence. */
  named: string;
}

/** What it is asked for is small, and known to it at once. */
const silenceMs = 5000;
const mostBytes = 4 * 1024 * 1024;

/** Throws a ConnectionFailure where it cannot be asked, and a NodeError where it refuses or is not ready. */
export async function askServer(question: ServerQuestion): Promise<ServerFacts> {
  const { url, named } = question;
  const { status, body } = await get(question, `${url}/models`);
  const isRefused = status === 401 || status === 403 || status === 429 || status >= 500;
  if (isRefused) throw toRefusal({ status, body }, { named, field: "input" });
  if (status === 200 && body === undefined) throw new ConnectionFailure("it answers no JSON");
  const list = status === 200 ? listAt(body, "data") : [];
  const listed = list.length === 0 ? {} : { models: list.flatMap(toListed) };
  return { ...listed, ...(await identify(question, list)) };
}

/** By what only one kind of server has. */
async function identify(question: ServerQuestion, list: readonly unknown[]): Promise<ServerFacts> {
  const root = rootOf(question.url);
  const look = async (url: string): Promise<unknown> => {
    try {
      return (await get(question, url)).body;
    } catch (error) {
      // It listed its models: that it does not answer this is no failure.
      if (error instanceof ConnectionFailure) return undefined;
      throw error;
    }
  };
  const [props, info, nodeInfo, release] = await Promise.all([
    look(`${root}/props`),
    look(`${root}/info`),
    look(`${question.url}/info`),
    look(`${root}/version`),
  ]);
  if (textAt(nodeInfo, "plugin_version") !== undefined) return paddockNode(nodeInfo);
  const settings = objectAt(props, "default_generation_settings");
  if (settings !== undefined) return llamaServer(props, settings);
  if (countAt(info, "max_client_batch_size") !== undefined) return textEmbeddings(info);
  const isOwnedBy = (owner: string): boolean =>
    list.some((model) => textAt(model, "owned_by") === owner);
  if (isOwnedBy("sglang")) return { kind: "sglang" };
  const version = textAt(release, "version");
  const hasLength = list.some((model) => countAt(model, "max_model_len") !== undefined);
  if (isOwnedBy("vllm") || (hasLength && version !== undefined)) {
    return { kind: "vllm", ...given({ version }) };
  }
  return { kind: "plain" };
}

async function get({ key, signal }: ServerQuestion, url: string) {
  using response = await exchange({ url, signal, silenceMs, ...given({ key }) });
  const text = await readText(response, mostBytes);
  return { status: response.status, body: parseJson(text ?? "") };
}

/** No model has a larger context; what a server says beyond it bounds nothing. */
const largestContext = 2 ** 24;

/** A size of a context; undefined where it is none. */
function contextAt(value: unknown, key: string): number | undefined {
  const size = countAt(value, key) ?? 0;
  return size > 0 && size <= largestContext ? size : undefined;
}

function toListed(model: unknown): ListedModel[] {
  const id = textAt(model, "id");
  const meta = objectAt(model, "meta");
  const known = given({
    contextSize: contextAt(model, "max_model_len") ?? contextAt(meta, "n_ctx"),
    vocabularySize: countAt(meta, "n_vocab"),
    created: countAt(model, "created"),
    ownedBy: textAt(model, "owned_by"),
  });
  return id === undefined ? [] : [{ id, ...known }];
}

function llamaServer(props: unknown, settings: object): ServerFacts {
  const contextSize = contextAt(settings, "n_ctx");
  return { kind: "llama-server", ...given({ contextSize, version: textAt(props, "build_info") }) };
}

function textEmbeddings(info: unknown): ServerFacts {
  return {
    kind: "tei",
    ...given({
      version: textAt(info, "version"),
      contextSize: contextAt(info, "max_input_length"),
      maxBatch: countAt(info, "max_client_batch_size") || undefined,
      weights: textAt(info, "model_sha"),
    }),
  };
}

/** It says more of its models here than in their list. */
function paddockNode(info: unknown): ServerFacts {
  const models = listAt(info, "models").flatMap((model): ListedModel[] => {
    const id = textAt(model, "name");
    const known = given({ contextSize: contextAt(model, "ctx_size"), type: textAt(model, "type") });
    return id === undefined ? [] : [{ id, ...known }];
  });
  return { kind: "paddock", models, ...given({ version: textAt(info, "version") }) };
}
