/** Every setting of the node, with its default; those of a model have a file of their own. */
import { type Static, Type as T } from "@sinclair/typebox";
import { defaultGroundingPrompt, ragPolicies } from "../core/chat/rag-policy.ts";
import { collectionNamePattern, collectionNameRule } from "../core/retrieval/collection-name.ts";
import { longestSeconds } from "./durations.ts";
import { ModelConfig } from "./model-schema.ts";
import { Shared } from "./shared-schema.ts";
import { RerankerUpstream } from "./upstream-schema.ts";

const strict = { additionalProperties: false } as const;

const Auth = T.Object(
  {
    api_keys: T.Array(T.String({ minLength: 8, "x-expected": "a key of at least 8 characters" }), {
      default: [],
      description: "Keys that may chat, embed and retrieve. Empty: no key wanted.",
    }),
    open: T.Boolean({
      default: false,
      description: "Serve without keys on an address other than loopback, and through a proxy.",
    }),
  },
  { ...strict, default: {} },
);

const Vectorstore = T.Object(
  {
    url: T.String({
      pattern: "^(embedded|https?://[^\\s/@?#]+(/[^\\s?#]*)?)$",
      "x-expected": "'embedded', or the http(s):// address of a Qdrant server without credentials",
      default: "embedded",
      description:
        "`embedded`: SQLite files in the data dir; else the `http(s)://` address of a Qdrant server. Without a port, http means 6333 and https 443.",
    }),
    api_key: T.Optional(
      T.String({ minLength: 1, "x-expected": "a key", description: "Key of the Qdrant server." }),
    ),
    timeout: T.Number({
      minimum: 0.1,
      maximum: 300,
      default: 5,
      description:
        "Seconds that the Qdrant server may take to answer a question; a change may take six times as long.",
    }),
    collection_name: T.String({
      pattern: collectionNamePattern,
      "x-expected": collectionNameRule,
      default: "default",
      description: "Name of the collection.",
    }),
    limit: T.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: "Most passages that retrieval returns.",
    }),
    score_threshold: T.Number({
      minimum: -1,
      maximum: 1,
      default: 0.4,
      description: "Least score of a returned passage.",
    }),
    handbook: T.Boolean({
      default: true,
      description: "Fill a collection that is empty at start with the node's own handbook.",
    }),
    embedding_model: T.Optional(
      T.String({
        minLength: 1,
        "x-default": "the first",
        description: "Name of the embedding model that fills the collection.",
      }),
    ),
  },
  { ...strict, default: {} },
);

const Retrieval = T.Object(
  {
    mode: T.Union([T.Literal("dense"), T.Literal("hybrid")], {
      default: "hybrid",
      description: "`hybrid`: by vectors and words; `dense`: by vectors alone.",
    }),
    candidates: T.Integer({
      minimum: 1,
      maximum: 500,
      default: 50,
      description: "Passages that words or a reranking model choose from.",
    }),
    reranker: T.Optional(
      T.String({
        minLength: 1,
        description:
          "A reranking model, named as a model's `source` is; `openai:http://host:8080`: one that runs elsewhere.",
      }),
    ),
    reranker_upstream: RerankerUpstream,
  },
  { ...strict, default: {} },
);

const Rag = T.Object(
  {
    policy: T.Union(
      ragPolicies.map((policy) => T.Literal(policy)),
      { default: "off", description: "Where a chat's passages go." },
    ),
    prompt: T.String({
      minLength: 1,
      default: defaultGroundingPrompt,
      "x-default": "see the page about knowledge",
      description: "What the model is told about the passages.",
    }),
    limit: T.Integer({
      minimum: 1,
      maximum: 100,
      default: 5,
      description: "Most passages of a chat.",
    }),
    score_threshold: T.Number({
      minimum: -1,
      maximum: 1,
      default: 0.4,
      description: "Least score of a chat's passage.",
    }),
    context_window: T.Integer({
      minimum: 1,
      maximum: 100,
      default: 1,
      description:
        "How many of the last user messages make the question, and the most that a request may ask for.",
    }),
    follow_ups: T.Boolean({
      default: true,
      description:
        'Where `context_window` is 1: whether a last user message that is short, or leans on what was before it ("and how much does it cost?"), is searched for together with the user message before.',
    }),
  },
  { ...strict, default: {} },
);

const Ingest = T.Object(
  {
    max_file_bytes: T.Integer({
      minimum: 1024,
      default: 64 * 1024 * 1024,
      description: "Largest file that is read, and most that is taken from standard input.",
    }),
    max_unpacked_bytes: T.Integer({
      minimum: 1024,
      default: 64 * 1024 * 1024,
      description: "Most bytes that the text of an Office file or an EPUB unpacks to.",
    }),
    max_unpack_ratio: T.Integer({
      minimum: 1,
      default: 100,
      description: "How many times its own size that may be; up to 256 KiB it may be any.",
    }),
    max_elements: T.Integer({
      minimum: 1,
      default: 500_000,
      description:
        "Most elements of a Word file, a presentation, an EPUB or an HTML page; each of Word's takes about 25 µs and 2 kB.",
    }),
    max_pages: T.Integer({
      minimum: 1,
      default: 5000,
      description: "Most pages of a PDF, slides of a presentation, and sheets of a workbook.",
    }),
    max_records: T.Integer({
      minimum: 1,
      default: 1_000_000,
      description: "Most rows of a CSV or TSV file or of a sheet, and most lines of a JSONL file.",
    }),
    max_text_length: T.Integer({
      minimum: 1,
      default: 64 * 1024 * 1024,
      description: "Most characters of text that come out of a file.",
    }),
    read_timeout: T.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 120,
      description: "Seconds that reading a file may take.",
    }),
    read_memory: T.Integer({
      minimum: 256,
      default: 2048,
      description: "Megabytes of memory that reading a file may take; heeded on Linux.",
    }),
  },
  { ...strict, default: {} },
);

const Documents = T.Object(
  {
    max_file_bytes: T.Integer({
      minimum: 1024,
      default: 64 * 1024 * 1024,
      description: "Largest file that is taken over HTTP; `ingest` says what can be read of it.",
    }),
    max_bytes: T.Integer({
      minimum: 0,
      default: 10 * 1024 * 1024 * 1024,
      description: "Bytes of all files that were uploaded; 0: no bound.",
    }),
    max_bytes_per_key: T.Integer({
      minimum: 0,
      default: 0,
      description: "The same of each key without a bound of its own; 0: no bound.",
    }),
    max_passages: T.Integer({
      minimum: 0,
      default: 1_000_000,
      description: "Passages of all files in vector stores; 0: no bound.",
    }),
    max_passages_per_key: T.Integer({
      minimum: 0,
      default: 0,
      description: "The same of each key without a bound of its own; 0: no bound.",
    }),
    max_vector_stores: T.Integer({
      minimum: 1,
      default: 1000,
      description: "Most vector stores.",
    }),
    max_queue: T.Integer({
      minimum: 1,
      default: 10_000,
      description: "Most files that wait to be taken in.",
    }),
  },
  { ...strict, default: {} },
);

const Engine = T.Object(
  {
    threads: T.Integer({
      minimum: 0,
      default: 0,
      description: "Threads of all models together; 0: as many as the process has cores.",
    }),
    isolation: T.Union([T.Literal("process"), T.Literal("none")], {
      default: "process",
      description:
        "`process`: each model in a process of its own, which is started again when it crashes; `none`: all in the node's.",
    }),
    heartbeat_timeout: T.Integer({
      minimum: 0,
      maximum: 3600,
      default: 30,
      description:
        "Seconds that a model's process may leave its heartbeat unanswered before it is ended and started again; ten times as long while it loads; 0: no bound.",
    }),
    share_prefixes: T.Boolean({
      default: false,
      description:
        "Whether keys share the evaluated beginnings of their prompts. A system prompt that all use is then evaluated once, and a caller can learn from `cached_tokens` and from time whether another key's prompt begins like theirs. A key's own prompts are always shared, and everybody's where there are no keys.",
    }),
    memory_limit: T.Integer({
      minimum: 0,
      default: 0,
      description:
        "Megabytes that all models may take together, as estimated from their files; the one unused for longest is unloaded to make room; 0: no bound.",
    }),
    gpu_libraries: T.Optional(
      T.String({
        minLength: 1,
        "x-default": "beside it",
        description:
          "Folder with llama.cpp's GPU libraries, looked in before the place that `paddock pull gpu` puts them; see the page about models.",
      }),
    ),
  },
  { ...strict, default: {} },
);

const Limits = T.Object(
  {
    max_body_bytes: T.Integer({
      minimum: 1024,
      default: 16 * 1024 * 1024,
      description: "Largest request body.",
    }),
    request_timeout: T.Integer({
      minimum: 0,
      maximum: longestSeconds,
      default: 600,
      description: "Seconds that a request may take, waiting included; 0: no bound.",
    }),
    shutdown_grace: T.Integer({
      minimum: 0,
      maximum: longestSeconds,
      default: 10,
      description: "Seconds that answers in progress have to end when the node is asked to stop.",
    }),
    body_timeout: T.Integer({
      minimum: 1,
      maximum: 3600,
      default: 30,
      description: "Seconds that a request's body may take to arrive; then the answer is 408.",
    }),
    max_messages: T.Integer({
      minimum: 1,
      default: 2048,
      description: "Most messages of a conversation.",
    }),
    max_inputs: T.Integer({
      minimum: 1,
      default: 2048,
      description: "Most texts of a request for embeddings.",
    }),
    connections_per_client: T.Integer({
      minimum: 0,
      default: 256,
      description:
        "Most requests in progress from one address (IPv6: one /64 network); 0: no bound. Loopback is not counted: a proxy there asks for many.",
    }),
    requests_per_minute: T.Integer({
      minimum: 0,
      default: 0,
      description: "Most requests a minute of a caller without a limit of its own; 0: no bound.",
    }),
    tokens_per_minute: T.Integer({
      minimum: 0,
      default: 0,
      description: "The same for tokens of prompts and answers.",
    }),
    concurrency: T.Integer({
      minimum: 0,
      default: 0,
      description:
        "The same for requests in progress at once; a chat for `n` answers counts as `n`.",
    }),
  },
  { ...strict, default: {} },
);

const Http = T.Object(
  {
    keep_alive: T.Integer({
      minimum: 1,
      maximum: 240,
      default: 60,
      description: "Seconds that a connection may be idle between an answer and the next request.",
    }),
    stall_timeout: T.Integer({
      minimum: 1,
      maximum: 3600,
      default: 60,
      description:
        "Seconds that a client may take nothing of a streamed answer that goes on; then the answer is ended, and its slot is free.",
    }),
    cors_origins: T.Array(
      T.String({
        pattern: "^(\\*|https?://[^\\s/?#@]+)$",
        "x-expected": "'*', or an origin such as 'https://app.example.org'",
      }),
      {
        default: [],
        description:
          "Origins whose pages may ask the node from a browser, such as `https://app.example.org`; `*`: all.",
      },
    ),
    allowed_hosts: T.Array(
      T.String({
        pattern: "^[A-Za-z0-9_.-]+$|^\\[[0-9A-Fa-f:.]+\\]$",
        "x-expected": "a host name without a port, such as 'node.example.org'",
      }),
      {
        default: [],
        description:
          "Host names, besides this machine's own, by which a node on loopback is reached.",
      },
    ),
  },
  { ...strict, default: {} },
);

const Metrics = T.Object(
  {
    open: T.Boolean({
      default: false,
      description: "Show `/metrics` to those without a key, where keys are wanted.",
    }),
  },
  { ...strict, default: {} },
);

const Telemetry = T.Object(
  {
    otlp_endpoint: T.Optional(
      T.String({
        pattern: "^https?://[^\\s/@?#]+(/[^\\s?#]*)?$",
        "x-expected": "the http(s):// address of an OpenTelemetry collector without credentials",
        description:
          "Address of an OpenTelemetry collector that traces are sent to; see the page about operating.",
      }),
    ),
  },
  { ...strict, default: {} },
);

export const Config = T.Object(
  {
    host: T.String({ minLength: 1, default: "127.0.0.1", description: "Address to listen on." }),
    port: T.Integer({
      minimum: 0,
      maximum: 65535,
      default: 8080,
      description: "Port to listen on; 0: any free one.",
    }),
    data_dir: T.String({
      minLength: 1,
      default: ".paddock",
      description: "Where models and the collection are kept.",
    }),
    log_level: T.Union(
      [T.Literal("debug"), T.Literal("info"), T.Literal("warn"), T.Literal("error")],
      { default: "info", description: "How much is written to the log." },
    ),
    log_prompts: T.Boolean({
      default: false,
      description: "Write what is asked and answered into the log, at level `info`.",
    }),
    auth: Auth,
    http: Http,
    vectorstore: Vectorstore,
    retrieval: Retrieval,
    rag: Rag,
    ingest: Ingest,
    documents: Documents,
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
  strict,
);

export type Config = Static<typeof Config>;
