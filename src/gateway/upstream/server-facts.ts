/** Identifies an upstream server: its kind, its models, its limits and its sampling options. */
import { countAt, listAt, objectAt, textAt } from "../../client/json-fields.ts";
import { pause } from "../../core/abort.ts";
import type { Sampling } from "../../core/ports/chat-engine.ts";
import type { Probe } from "../replicas/replica-set.ts";
import { parseAnswer, rootOf } from "./ask.ts";
import { ConnectionFailure, exchange, readText } from "./http-exchange.ts";
import { toRefusal } from "./refusal.ts";

export interface ServerFacts {
  kind: ServerKind;
  version?: string | undefined;
  /** Absent if it lists none. */
  models?: readonly ListedModel[] | undefined;
  /** Of any model it serves. */
  contextSize?: number | undefined;
  /** Most texts per request. */
  maxBatch?: number | undefined;
  /** Identifies the weights, if the server reports it. */
  weights?: string | undefined;
}

export interface ListedModel {
  id: string;
  contextSize?: number | undefined;
  vocabularySize?: number | undefined;
  /** Unix time in seconds. */
  created?: number | undefined;
  ownedBy?: string | undefined;
  /** `chat`, `embedding` or `reranker`, if the server reports it. */
  type?: string | undefined;
}

export interface ServerQuestion {
  url: string;
  key?: string | undefined;
  signal: AbortSignal;
  /** The model, in a sentence. */
  named: string;
}

/** Short, since these answers are small and need no computing. */
const silenceMs = 5000;
const mostBytes = 4 * 1024 * 1024;

/** Throws a ConnectionFailure if unreachable, and a NodeError if it refuses or is not ready. */
export async function askServer(question: ServerQuestion): Promise<ServerFacts> {
  const { url, named } = question;
  const { status, body } = await askAbout(question, `${url}/models`);
  const isRefused = status === 401 || status === 403 || status === 429 || status >= 500;
  if (isRefused) throw toRefusal({ status, body }, { named, field: "input" });
  if (status === 200 && body === undefined) throw new ConnectionFailure("it answers no JSON");
  const list = status === 200 ? listAt(body, "data") : [];
  const models = list.length === 0 ? undefined : list.flatMap(toListed);
  return { models, ...(await identify(question, list)) };
}

/** A server that is just starting, or its proxy, may fail for a moment; the model stays opened as what it seems to be. */
const mostLooks = 3;
const lookAgainMs = 500;

/** Recognizes a server by endpoints and fields that only its kind has. */
async function identify(question: ServerQuestion, list: readonly unknown[]): Promise<ServerFacts> {
  const root = rootOf(question.url);
  const look = async (url: string, triesLeft = mostLooks - 1): Promise<unknown> => {
    try {
      const { status, body } = await askAbout(question, url);
      if (triesLeft === 0 || (status < 500 && status !== 429)) return body;
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error;
      // It listed its models, so a failure here is ignored in the end.
      if (triesLeft === 0 || error.isSilence) return undefined;
    }
    await pause(lookAgainMs, question.signal);
    return await look(url, triesLeft - 1);
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
  const version = nameAt(release, "version");
  const hasLength = list.some((model) => countAt(model, "max_model_len") !== undefined);
  if (isOwnedBy("vllm") || (hasLength && version !== undefined)) {
    return { kind: "vllm", version };
  }
  return { kind: "plain" };
}

/** A question about the server itself; with `sent` by POST. Throws a ConnectionFailure. */
export async function askAbout(
  { key, signal }: Pick<ServerQuestion, "key" | "signal">,
  url: string,
  sent?: object,
) {
  const body = sent && [JSON.stringify(sent)];
  using response = await exchange({ url, signal, silenceMs, key, body });
  const text = await readText(response, mostBytes, silenceMs);
  return { status: response.status, body: await parseAnswer(text ?? "") };
}

/** Larger than any model's; a larger value is ignored. */
const largestContext = 2 ** 24;

function contextAt(value: unknown, key: string): number | undefined {
  const size = countAt(value, key) ?? 0;
  return size > 0 && size <= largestContext ? size : undefined;
}

/** Longer than any name, path or version; a longer text is ignored, since all callers are shown these. */
const longestName = 1000;

function nameAt(value: unknown, key: string): string | undefined {
  const name = textAt(value, key);
  return name !== undefined && name.length <= longestName ? name : undefined;
}

function toListed(model: unknown): ListedModel[] {
  const id = nameAt(model, "id");
  if (id === undefined) return [];
  const meta = objectAt(model, "meta");
  const listed = {
    id,
    contextSize: contextAt(model, "max_model_len") ?? contextAt(meta, "n_ctx"),
    vocabularySize: countAt(meta, "n_vocab"),
    created: countAt(model, "created"),
    ownedBy: nameAt(model, "owned_by"),
  };
  return [listed];
}

const llamaServer = (props: unknown, settings: object): ServerFacts => ({
  kind: "llama-server",
  contextSize: contextAt(settings, "n_ctx"),
  version: nameAt(props, "build_info"),
});

const textEmbeddings = (info: unknown): ServerFacts => ({
  kind: "tei",
  version: nameAt(info, "version"),
  contextSize: contextAt(info, "max_input_length"),
  maxBatch: countAt(info, "max_client_batch_size") || undefined,
  weights: nameAt(info, "model_sha"),
});

/** A Paddock node reports more about its models here than in their list. */
function paddockNode(info: unknown): ServerFacts {
  const models = listAt(info, "models").flatMap((model): ListedModel[] => {
    const id = nameAt(model, "name");
    const [contextSize, type] = [contextAt(model, "ctx_size"), nameAt(model, "type")];
    return id === undefined ? [] : [{ id, contextSize, type }];
  });
  return { kind: "paddock", models, version: nameAt(info, "version") };
}

/** `plain`: any other server. */
export type ServerKind = "vllm" | "sglang" | "llama-server" | "tei" | "paddock" | "plain";

export const kindNames: Readonly<Record<ServerKind, string>> = {
  vllm: "vLLM",
  sglang: "SGLang",
  "llama-server": "llama-server",
  tei: "Text Embeddings Inference",
  paddock: "Paddock",
  plain: "a server of the OpenAI API",
};

type SamplingName = keyof Sampling;

/** Sampling options that are not sent, because the server would reject or ignore them. */
export function ignoredSampling(kind: ServerKind): readonly SamplingName[] {
  if (kind === "llama-server" || kind === "paddock") return [];
  const isKnown = kind === "vllm" || kind === "sglang";
  return [...(isKnown ? [] : notOfTheApi), ...ofLlamaCpp];
}

const notOfTheApi = ["topK", "minP", "repeatPenalty"] as const;
const ofLlamaCpp = ["repeatLastN", "dryMultiplier", "dryBase", "dryAllowedLength"] as const;

/** Sampling in the server's field names. Defaults differ, so all that it supports is sent. */
export function toSampling(sampling: Sampling, kind: ServerKind, contextSize: number): object {
  const { temperature, topP, topK, minP, presencePenalty, frequencyPenalty, repeatPenalty } =
    sampling;
  const known = {
    temperature,
    top_p: topP,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
  };
  switch (kind) {
    case "vllm":
    case "sglang":
      return {
        ...known,
        // They reject 0, which means the likeliest token only.
        top_p: Math.max(topP, smallestTopP),
        top_k: topK === 0 ? -1 : topK,
        min_p: minP,
        repetition_penalty: repeatPenalty,
      };
    case "llama-server":
    case "paddock":
      return {
        ...known,
        top_k: topK,
        min_p: minP,
        repeat_penalty: repeatPenalty,
        ...toRepetition(sampling, contextSize),
      };
    default:
      // The API's defaults are omitted: some servers reject them if they are sent.
      return Object.fromEntries(
        Object.entries(known).filter(([name, value]) => value !== apiDefaults[name]),
      );
  }
}

/** Sent only if used: llama-server rejects -1, and has a short window by default. */
function toRepetition(sampling: Sampling, contextSize: number): object {
  const { repeatLastN, dryMultiplier, dryBase, dryAllowedLength } = sampling;
  const window = repeatLastN < 0 ? {} : { repeat_last_n: repeatLastN };
  if (dryMultiplier === 0) return window;
  return {
    ...window,
    dry_multiplier: dryMultiplier,
    dry_base: dryBase,
    dry_allowed_length: dryAllowedLength,
    dry_penalty_last_n: repeatLastN < 0 ? contextSize : repeatLastN,
  };
}

const smallestTopP = 1e-6;

const apiDefaults: Readonly<Record<string, number>> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
};

/**
 * Checks whether a server works, by its list of models. 4xx counts as working: without such a list
 * it answers 404, and with another key 401. A server that is loading or stopping answers 503.
 */
export const probeServer =
  (key: string | undefined): Probe =>
  async (url, signal) => {
    const { status, body } = await askAbout({ key, signal }, `${url}/models`);
    if (status >= 500) throw new ConnectionFailure(`it answers with status ${status}`);
    if (status === 200 && body === undefined) throw new ConnectionFailure("it answers no JSON");
  };
