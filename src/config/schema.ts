/**
 * Every setting of the node, with its default and description. Environment variables, options, help
 * and the reference are generated from it: `x-setting` names the option, and with the prefix
 * `PADDOCK_` the variable. `x-secret`: no option. `x-hidden`: the value is never shown.
 */
import { type Static, Type as T } from "@sinclair/typebox";
import { Auth, Http, Limits } from "./access-schema.ts";
import { Documents, Ingest, Rag, Retrieval, Vectorstore } from "./knowledge-schema.ts";
import { atMost, ModelConfig, section } from "./model-schema.ts";

const tenYears = 10 * 365 * 24 * 60 * 60;

const Engine = section({
  threads: T.Integer({
    minimum: 0,
    default: 0,
    "x-setting": "threads",
    description: "Threads of all models together; 0: as many as the process has cores.",
  }),
  isolation: T.Union([T.Literal("process"), T.Literal("none")], {
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
  share_prefixes: T.Boolean({
    default: false,
    description:
      "Whether keys share the evaluated beginnings of their prompts. A system prompt that all use is then evaluated once, and a caller can learn from `cached_tokens` and from response times whether another key's prompt begins like theirs. A key's own prompts are always shared, and everybody's where there are no keys.",
  }),
  memory_limit: atMost(
    0,
    "Megabytes that all models may use together, as estimated from their files; the least recently used one is unloaded to make room",
    { "x-setting": "memory-limit" },
  ),
  gpu_libraries: T.Optional(
    T.String({
      minLength: 1,
      "x-setting": "gpu-libraries",
      "x-default": "beside the program",
      description:
        "Folder with llama.cpp's GPU libraries, searched before the folder of `paddock pull gpu`. See the page about models.",
    }),
  ),
});

const Responses = section({
  keep_for: T.Integer({
    minimum: 0,
    maximum: tenYears,
    default: 30 * 24 * 60 * 60,
    description:
      "How long a response is stored with its conversation, in seconds; a change also holds for responses that are stored already. 0: nothing is stored.",
  }),
  max_bytes: T.Integer({
    minimum: 1024 * 1024,
    default: 1024 * 1024 * 1024,
    description:
      "Bytes of all stored responses; beyond it the oldest of the key that stores most are removed.",
  }),
  max_response_bytes: T.Integer({
    minimum: 1024,
    maximum: 64 * 1024 * 1024,
    default: 8 * 1024 * 1024,
    description:
      "Bytes of one stored response with its conversation; a larger one is answered and not stored.",
  }),
  max_background: T.Integer({
    minimum: 1,
    maximum: 1024,
    default: 4,
    description: "How many responses with `background` are generated at the same time.",
  }),
  max_queue: T.Integer({
    minimum: 0,
    maximum: 10_000,
    default: 64,
    description:
      "How many more of them may wait, half of these of one caller; beyond that they are rejected.",
  }),
});

const Shared = section({
  redis: T.Optional(
    T.String({
      pattern:
        "^rediss?://([^\\s/@?#]*@)?([^\\s/@?#:[\\]]+|\\[[0-9A-Fa-f:.]+\\])(:\\d{1,5})?(/\\d{0,4})?$",
      "x-expected": "a redis:// or rediss:// address such as 'redis://127.0.0.1:6379'",
      "x-setting": "shared-redis",
      "x-secret": true,
      description:
        "Address of a Redis server that stores the keys and limits of several nodes; `rediss://` with TLS. It may hold credentials: then set it by its variable, not in the file.",
    }),
  ),
  password: T.Optional(
    T.String({
      minLength: 1,
      "x-expected": "a password",
      "x-setting": "shared-password",
      "x-secret": true,
      "x-default": "the address' own",
      description: "Password of the Redis server.",
    }),
  ),
  prefix: T.String({
    pattern: "^[A-Za-z0-9_.-]{1,64}$",
    "x-expected": "1 to 64 letters, digits or any of _ . -",
    default: "paddock",
    "x-setting": "shared-prefix",
    description:
      "What the names of all keys in Redis begin with; nodes with one prefix belong together.",
  }),
  when_away: T.Union([T.Literal("serve"), T.Literal("refuse")], {
    default: "serve",
    "x-setting": "shared-when-away",
    description:
      "While Redis is away: `serve` with each node's own limits and the keys last known, or `refuse` chats, embeddings and retrieval with 503.",
  }),
  timeout: T.Number({
    minimum: 0.05,
    maximum: 10,
    default: 0.25,
    "x-setting": "shared-timeout",
    description:
      "Seconds that Redis may take to answer; one that takes longer is away until it answers again.",
  }),
});

const Metrics = section({
  open: T.Boolean({
    default: false,
    "x-setting": "metrics-open",
    description: "Show `/metrics` to callers without a key, where keys are required.",
  }),
});

const Telemetry = section({
  otlp_endpoint: T.Optional(
    T.String({
      pattern: "^https?://[^\\s/@?#]+(/[^\\s?#]*)?$",
      "x-expected": "the http(s):// address of an OpenTelemetry collector without credentials",
      "x-setting": "otlp-endpoint",
      description:
        "Address of an OpenTelemetry collector that traces are sent to. See the page about operating.",
    }),
  ),
});

export const Config = T.Object(
  {
    host: T.String({
      minLength: 1,
      default: "127.0.0.1",
      "x-setting": "host",
      description: "Address to listen on.",
    }),
    port: T.Integer({
      minimum: 0,
      maximum: 65535,
      default: 8080,
      "x-setting": "port",
      description: "Port to listen on; 0: any free one.",
    }),
    data_dir: T.String({
      minLength: 1,
      default: ".paddock",
      "x-setting": "data-dir",
      description: "Folder for models, collections and everything else that is stored.",
    }),
    log_level: T.Union(
      [T.Literal("debug"), T.Literal("info"), T.Literal("warn"), T.Literal("error")],
      { default: "info", "x-setting": "log-level", description: "How much is logged." },
    ),
    log_prompts: T.Boolean({
      default: false,
      "x-setting": "log-prompts",
      description: "Log prompts and answers, at level `info`.",
    }),
    auth: Auth,
    http: Http,
    vectorstore: Vectorstore,
    retrieval: Retrieval,
    rag: Rag,
    ingest: Ingest,
    documents: Documents,
    responses: Responses,
    engine: Engine,
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
