/**
 * Every setting of the node, with its default and description. Environment variables, options, help
 * and the reference are generated from it: `x-setting` names the option, and with the prefix
 * `PADDOCK_` the variable. `x-secret`: no option. `x-hidden`: the value is never shown.
 */
import { type Static, Type as T } from "@sinclair/typebox";
import { Auth, Http, Limits } from "./http-schema.ts";
import {
  atMost,
  choice,
  flag,
  integer,
  longestSeconds,
  number,
  optionalText,
  section,
  text,
  texts,
} from "./keys.ts";
import { Documents, Ingest, Rag, Retrieval, Vectorstore } from "./knowledge-schema.ts";
import { ModelConfig, upstreamAddress } from "./model-schema.ts";

const tenYears = 10 * 365 * 24 * 60 * 60;

const Engine = section({
  threads: integer(
    { minimum: 0, default: 0, "x-setting": "threads" },
    "Threads of all models together; 0: as many as the process has cores.",
  ),
  isolation: choice(["process", "none"], {
    default: "process",
    "x-setting": "isolation",
    description:
      "`process`: each model has its own process, which is restarted after a crash; `none`: all models run in the node's process.",
  }),
  heartbeat_timeout: atMost(
    30,
    "Seconds that a model's process may leave its heartbeat unanswered before it is ended and restarted; ten times as long while it loads",
    { maximum: 3600 },
  ),
  step_timeout: atMost(
    60,
    "Seconds that a model's process may compute without finishing a step (a batch of a chat, a text that is embedded or ranked) before it is ended and restarted; a step that usually takes long may take ten times its usual time",
    { maximum: 3600 },
  ),
  native_steps: flag(
    { default: true },
    "Whether chat and embedding models are driven through llama.cpp's C interface, which is faster; `false`: through node-llama-cpp alone. Where the interface does not work, the log and `/v1/info` say why, and node-llama-cpp is used.",
  ),
  share_prefixes: flag(
    { default: false },
    "Whether keys share the evaluated beginnings of their prompts. A system prompt that all use is then evaluated once, and a caller can learn from `cached_tokens` and from response times whether another key's prompt begins like theirs. A key's own prompts are always shared, and everybody's where there are no keys.",
  ),
  memory_limit: atMost(
    0,
    "Megabytes that all models may use together, as estimated from their files; the least recently used one is unloaded to make room",
    { "x-setting": "memory-limit" },
  ),
  gpu_libraries: optionalText(
    { minLength: 1, "x-setting": "gpu-libraries", "x-default": "beside the program" },
    "Folder with llama.cpp's GPU libraries, searched before the folder of `paddock pull gpu`. See the page about models.",
  ),
});

const ModelsFolder = section({
  serve: choice(["auto", "all", "none"], {
    default: "auto",
    "x-setting": "serve-models",
    description:
      "Which models of the models folder are served besides `[[models]]`: `all`; `none`; `auto`: all where there is no `[[models]]`, and the starter chat model only while no other that fits is there. They are loaded by their first request.",
  }),
  keep_alive: integer(
    { minimum: 0, maximum: longestSeconds, default: 300 },
    "Seconds without a request after which such a model is unloaded until the next one.",
  ),
  pull_from: texts(
    {
      pattern: "^(hf:|npm:|https://[^\\s/@?#]+/)[^\\s?#]*$",
      "x-expected": "the beginning of a source, such as 'hf:', 'hf:owner/' or 'https://host/'",
    },
    { default: ["hf:", "npm:"], "x-setting": "pull-from" },
    "Beginnings of the sources that may be pulled over HTTP, such as `hf:owner/` or `https://models.example.org/`, but never an address in the node's own network. Empty: none. `paddock pull` fetches any source.",
  ),
});

const Responses = section({
  keep_for: integer(
    { minimum: 0, maximum: tenYears, default: 30 * 24 * 60 * 60 },
    "How long a response is stored with its conversation, in seconds; a change also holds for responses that are stored already. 0: nothing is stored.",
  ),
  max_bytes: integer(
    { minimum: 1024 * 1024, default: 1024 * 1024 * 1024 },
    "Bytes of all stored responses; beyond it the oldest of the key that stores most are removed.",
  ),
  max_response_bytes: integer(
    { minimum: 1024, maximum: 64 * 1024 * 1024, default: 8 * 1024 * 1024 },
    "Bytes of one stored response with its conversation; a larger one is answered and not stored.",
  ),
  max_background: integer(
    { minimum: 1, maximum: 1024, default: 4 },
    "How many responses with `background` are generated at the same time.",
  ),
  max_queue: integer(
    { minimum: 0, maximum: 10_000, default: 64 },
    "How many more of them may wait, of one caller half of what others leave; beyond that they are rejected.",
  ),
});

const Shared = section({
  redis: optionalText(
    {
      pattern:
        "^rediss?://([^\\s/@?#]*@)?([^\\s/@?#:[\\]]+|\\[[0-9A-Fa-f:.]+\\])(:\\d{1,5})?(/\\d{0,4})?$",
      "x-expected": "a redis:// or rediss:// address such as 'redis://127.0.0.1:6379'",
      "x-setting": "shared-redis",
      "x-secret": true,
    },
    "Address of a Redis server that stores the keys and limits of several nodes; `rediss://` with TLS. It may hold credentials: then set it by its variable, not in the file.",
  ),
  password: optionalText(
    {
      minLength: 1,
      "x-expected": "a password",
      "x-setting": "shared-password",
      "x-secret": true,
      "x-default": "the address' own",
    },
    "Password of the Redis server.",
  ),
  prefix: text(
    {
      pattern: "^[A-Za-z0-9_.-]{1,64}$",
      "x-expected": "1 to 64 letters, digits or any of _ . -",
      default: "paddock",
      "x-setting": "shared-prefix",
    },
    "What the names of all keys in Redis begin with; nodes with one prefix belong together.",
  ),
  when_away: choice(["serve", "refuse"], {
    default: "serve",
    "x-setting": "shared-when-away",
    description:
      "While Redis is away: `serve` with each node's own limits and the keys last known, or `refuse` chats, embeddings and retrieval with 503.",
  }),
  timeout: number(
    { minimum: 0.05, maximum: 10, default: 0.25, "x-setting": "shared-timeout" },
    "Seconds that Redis may take to answer; one that takes longer is away until it answers again.",
  ),
});

const Metrics = section({
  open: flag(
    { default: false, "x-setting": "metrics-open" },
    "Show `/metrics` to callers without a key, where keys are required.",
  ),
});

const Telemetry = section({
  otlp_endpoint: optionalText(
    {
      pattern: upstreamAddress,
      "x-expected": "the http(s):// address of an OpenTelemetry collector without credentials",
      "x-setting": "otlp-endpoint",
    },
    "Address of an OpenTelemetry collector that traces are sent to. See the page about operating.",
  ),
});

export const Config = T.Object(
  {
    host: text(
      { minLength: 1, default: "127.0.0.1", "x-setting": "host" },
      "Address to listen on.",
    ),
    port: integer(
      { minimum: 0, maximum: 65535, default: 8080, "x-setting": "port" },
      "Port to listen on; 0: any free one.",
    ),
    data_dir: text(
      { minLength: 1, default: ".paddock", "x-setting": "data-dir" },
      "Folder for models, collections and everything else that is stored.",
    ),
    log_level: choice(["debug", "info", "warn", "error"], {
      default: "info",
      "x-setting": "log-level",
      description: "How much is logged.",
    }),
    log_prompts: flag(
      { default: false, "x-setting": "log-prompts" },
      "Log prompts and answers, at level `info`.",
    ),
    auth: Auth,
    http: Http,
    vectorstore: Vectorstore,
    retrieval: Retrieval,
    rag: Rag,
    ingest: Ingest,
    documents: Documents,
    responses: Responses,
    engine: Engine,
    models_folder: ModelsFolder,
    limits: Limits,
    shared: Shared,
    metrics: Metrics,
    telemetry: Telemetry,
    models: T.Array(ModelConfig, {
      minItems: 1,
      default: [
        { name: "TinyLlama-1.1B-Chat-v1.0", type: "chat", source: "starter:chat" },
        { name: "all-MiniLM-L6-v2", type: "embedding", source: "starter:embedding" },
      ],
    }),
  },
  { additionalProperties: false },
);

export type Config = Static<typeof Config>;
