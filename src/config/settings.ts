/** The settings that the environment and the command line can give, each with its place in the configuration. */

export interface Setting {
  path: readonly [string] | readonly [string, string];
  env: string;
  /** Absent for secrets: a list of processes would show them. */
  flag?: string;
  /** Turns the text into the value that the schema checks. */
  parse: (text: string) => unknown;
  help: string;
}

const asText = (text: string): string => text;
/** A number where it is one; else the text, for the schema to refuse. */
const asNumber = (text: string): unknown =>
  text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
const asBoolean = (text: string): unknown =>
  text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : text;
const asList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function setting(
  path: Setting["path"],
  name: string,
  parse: Setting["parse"],
  help: string,
): Setting {
  return {
    path,
    env: `PADDOCK_${name.toUpperCase().replaceAll("-", "_")}`,
    flag: name,
    parse,
    help,
  };
}

export const settings: readonly Setting[] = [
  setting(["host"], "host", asText, "address to listen on"),
  setting(["port"], "port", asNumber, "port to listen on; 0: any free one"),
  setting(["data_dir"], "data-dir", asText, "where models and the collection are kept"),
  setting(["log_level"], "log-level", asText, "how much is written to the log"),
  setting(
    ["log_prompts"],
    "log-prompts",
    asBoolean,
    "write what is asked and answered into the log",
  ),
  {
    path: ["auth", "api_keys"],
    env: "PADDOCK_API_KEYS",
    parse: asList,
    help: "keys that requests must carry, separated by commas",
  },
  setting(
    ["auth", "open"],
    "auth-open",
    asBoolean,
    "serve without keys beyond loopback and through a proxy",
  ),
  setting(["engine", "threads"], "threads", asNumber, "threads of all models together; 0: auto"),
  setting(["engine", "isolation"], "isolation", asText, "where models run"),
  setting(
    ["engine", "memory_limit"],
    "memory-limit",
    asNumber,
    "megabytes that all models may take together; 0: no bound",
  ),
  setting(
    ["engine", "gpu_libraries"],
    "gpu-libraries",
    asText,
    "folder with llama.cpp's GPU libraries",
  ),
  setting(["vectorstore", "url"], "vectorstore-url", asText, "'embedded', or a Qdrant server"),
  {
    path: ["vectorstore", "api_key"],
    env: "PADDOCK_VECTORSTORE_API_KEY",
    parse: asText,
    help: "key of the Qdrant server",
  },
  setting(
    ["vectorstore", "timeout"],
    "vectorstore-timeout",
    asNumber,
    "seconds that the Qdrant server may take to answer",
  ),
  setting(["retrieval", "mode"], "retrieval-mode", asText, "how passages are found"),
  setting(["retrieval", "reranker"], "reranker", asText, "name or source of a reranking model"),
  setting(["rag", "policy"], "rag-policy", asText, "where a chat's passages go"),
  setting(["vectorstore", "collection_name"], "collection", asText, "name of the collection"),
  setting(["vectorstore", "limit"], "limit", asNumber, "most passages that retrieval returns"),
  setting(
    ["vectorstore", "score_threshold"],
    "score-threshold",
    asNumber,
    "least score of a passage",
  ),
  setting(
    ["limits", "request_timeout"],
    "request-timeout",
    asNumber,
    "seconds that a request may take; 0: no bound",
  ),
  setting(
    ["limits", "shutdown_grace"],
    "shutdown-grace",
    asNumber,
    "seconds that answers in progress have to end at a stop",
  ),
  setting(
    ["limits", "max_body_bytes"],
    "max-body-bytes",
    asNumber,
    "largest request body, in bytes",
  ),
  setting(["metrics", "open"], "metrics-open", asBoolean, "show /metrics to those without a key"),
  setting(["telemetry", "otlp_endpoint"], "otlp-endpoint", asText, "where traces go, over OTLP"),
  setting(
    ["limits", "body_timeout"],
    "body-timeout",
    asNumber,
    "seconds that a request's body may take to arrive",
  ),
  setting(["limits", "max_messages"], "max-messages", asNumber, "most messages of a conversation"),
  setting(
    ["limits", "max_inputs"],
    "max-inputs",
    asNumber,
    "most texts of a request to embed or rerank",
  ),
  setting(
    ["limits", "connections_per_client"],
    "connections-per-client",
    asNumber,
    "most requests in progress from one address; 0: no bound",
  ),
  // "default": `paddock keys create` has the shorter names for a key's own.
  setting(
    ["limits", "requests_per_minute"],
    "default-requests-per-minute",
    asNumber,
    "most requests a minute of a caller; 0: no bound",
  ),
  setting(
    ["limits", "tokens_per_minute"],
    "default-tokens-per-minute",
    asNumber,
    "most tokens a minute of a caller; 0: no bound",
  ),
  setting(
    ["limits", "concurrency"],
    "default-concurrency",
    asNumber,
    "most requests of a caller at once; 0: no bound",
  ),
  // No option: the address may hold a password.
  {
    path: ["shared", "redis"],
    env: "PADDOCK_SHARED_REDIS",
    parse: asText,
    help: "Redis server that several nodes share",
  },
  {
    path: ["shared", "password"],
    env: "PADDOCK_SHARED_PASSWORD",
    parse: asText,
    help: "password of the Redis server",
  },
  setting(
    ["shared", "prefix"],
    "shared-prefix",
    asText,
    "what the names of keys in Redis begin with",
  ),
  setting(
    ["shared", "when_away"],
    "shared-when-away",
    asText,
    "what is done while the Redis server is away",
  ),
  setting(
    ["shared", "timeout"],
    "shared-timeout",
    asNumber,
    "seconds that the Redis server may take to answer",
  ),
  setting(
    ["http", "keep_alive"],
    "keep-alive",
    asNumber,
    "seconds that a connection may be idle between requests",
  ),
  setting(
    ["http", "stall_timeout"],
    "stall-timeout",
    asNumber,
    "seconds that a client may take nothing of a stream",
  ),
  setting(["http", "cors_origins"], "cors-origins", asList, "origins whose pages may ask"),
  setting(["http", "allowed_hosts"], "allowed-hosts", asList, "further names of a loopback node"),
  setting(["http", "trusted_proxies"], "trusted-proxies", asList, "proxies whose word is believed"),
];
