/** Settings of the HTTP side: who may call, how much, and from where. */
import { atMost, flag, integer, longestSeconds, optionalFlag, section, texts } from "./keys.ts";

export const Auth = section({
  api_keys: texts(
    { minLength: 8, "x-expected": "a key of at least 8 characters" },
    { "x-setting": "api-keys", "x-secret": true },
    "Keys that may chat, embed and retrieve. Empty: no key is required.",
  ),
  open: flag(
    { default: false, "x-setting": "auth-open" },
    "Serve without keys on an address other than loopback, and through a proxy.",
  ),
});

export const Limits = section({
  max_body_bytes: integer(
    { minimum: 1024, default: 16 * 1024 * 1024, "x-setting": "max-body-bytes" },
    "Largest request body, in bytes.",
  ),
  max_image_bytes: integer(
    { minimum: 1024, default: 8 * 1024 * 1024, "x-setting": "max-image-bytes" },
    "Largest image of a message, in bytes; in base64 it takes a third more of `max_body_bytes`.",
  ),
  request_timeout: atMost(600, "Seconds that a request may take, waiting included", {
    maximum: longestSeconds,
    "x-setting": "request-timeout",
  }),
  shutdown_grace: integer(
    { minimum: 0, maximum: longestSeconds, default: 10, "x-setting": "shutdown-grace" },
    "Seconds that answers in progress have to finish when the node stops.",
  ),
  body_timeout: integer(
    { minimum: 1, maximum: 3600, default: 30, "x-setting": "body-timeout" },
    "Seconds that a request's body may take to arrive; then the answer is 408.",
  ),
  max_messages: integer(
    { minimum: 1, default: 2048, "x-setting": "max-messages" },
    "Most messages of a conversation.",
  ),
  max_inputs: integer(
    { minimum: 1, default: 2048, "x-setting": "max-inputs" },
    "Most texts of a request for embeddings, documents of one to rerank, and prompts of a completion.",
  ),
  connections_per_client: integer(
    { minimum: 0, default: 256, "x-setting": "connections-per-client" },
    "Most requests in progress from one address (IPv6: one /64 network); 0: no bound. Loopback is not counted: a proxy there sends many. With `http.trusted_proxies` each client behind them counts by itself.",
  ),
  // "default": `paddock keys create` has the shorter names for a key's own.
  requests_per_minute: atMost(0, "Most requests a minute of a caller without a limit of its own", {
    "x-setting": "default-requests-per-minute",
  }),
  tokens_per_minute: atMost(
    0,
    "Most tokens a minute, of prompts and answers, of a caller without a limit of its own",
    { "x-setting": "default-tokens-per-minute" },
  ),
  concurrency: atMost(
    0,
    "Most requests in progress of a caller without a limit of its own; a chat for `n` answers counts as `n`",
    { "x-setting": "default-concurrency" },
  ),
});

export const Http = section({
  keep_alive: integer(
    { minimum: 1, maximum: 240, default: 60, "x-setting": "keep-alive" },
    "Seconds that a connection may be idle between an answer and the next request.",
  ),
  stall_timeout: integer(
    { minimum: 1, maximum: 3600, default: 60, "x-setting": "stall-timeout" },
    "Seconds that a client may read nothing of a streamed answer; then the answer is ended. Up to 1 MiB of it is generated meanwhile; a larger one occupies its slot, and has a sixth of the time.",
  ),
  cors_origins: texts(
    {
      pattern: "^(\\*|[a-z][a-z0-9+.-]*://[^\\s/?#@]+)$",
      "x-expected": "'*', or an origin such as 'https://app.example.org'",
    },
    { "x-setting": "cors-origins" },
    "Origins, besides the node's own, whose pages may call it from a browser, such as `https://app.example.org` or `chrome-extension://…`; `*`: all.",
  ),
  allowed_hosts: texts(
    {
      pattern: "^[A-Za-z0-9_.-]+$|^\\[[0-9A-Fa-f:.]+\\]$",
      "x-expected": "a host name without a port, such as 'node.example.org'",
    },
    { "x-setting": "allowed-hosts" },
    "Host names, besides this machine's own, by which a node on loopback is reached.",
  ),
  ollama: optionalFlag(
    { "x-default": "true on loopback", "x-setting": "ollama" },
    'Whether `/` says "Ollama is running" to clients that do not ask for HTML, as Ollama\'s look for it. Its API is served either way.',
  ),
  trusted_proxies: texts(
    {
      pattern: "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$",
      "x-expected": "an address or a range, such as '192.0.2.7' or '10.0.0.0/8'",
    },
    { "x-setting": "trusted-proxies" },
    "Addresses and ranges of proxies whose `X-Forwarded-For` is trusted: limits by address then hold for each client behind them.",
  ),
});
