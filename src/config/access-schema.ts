/** Settings for keys, limits and HTTP access. */
import { Type as T } from "@sinclair/typebox";
import { atMost, longestSeconds, section } from "./model-schema.ts";

export const Auth = section({
  api_keys: T.Array(T.String({ minLength: 8, "x-expected": "a key of at least 8 characters" }), {
    default: [],
    "x-setting": "api-keys",
    "x-secret": true,
    description: "Keys that may chat, embed and retrieve. Empty: no key is required.",
  }),
  open: T.Boolean({
    default: false,
    "x-setting": "auth-open",
    description: "Serve without keys on an address other than loopback, and through a proxy.",
  }),
});

export const Limits = section({
  max_body_bytes: T.Integer({
    minimum: 1024,
    default: 16 * 1024 * 1024,
    "x-setting": "max-body-bytes",
    description: "Largest request body, in bytes.",
  }),
  request_timeout: atMost(600, "Seconds that a request may take, waiting included", {
    maximum: longestSeconds,
    "x-setting": "request-timeout",
  }),
  shutdown_grace: T.Integer({
    minimum: 0,
    maximum: longestSeconds,
    default: 10,
    "x-setting": "shutdown-grace",
    description: "Seconds that answers in progress have to finish when the node stops.",
  }),
  body_timeout: T.Integer({
    minimum: 1,
    maximum: 3600,
    default: 30,
    "x-setting": "body-timeout",
    description: "Seconds that a request's body may take to arrive; then the answer is 408.",
  }),
  max_messages: T.Integer({
    minimum: 1,
    default: 2048,
    "x-setting": "max-messages",
    description: "Most messages of a conversation.",
  }),
  max_inputs: T.Integer({
    minimum: 1,
    default: 2048,
    "x-setting": "max-inputs",
    description:
      "Most texts of a request for embeddings, documents of one to rerank, and prompts of a completion.",
  }),
  connections_per_client: T.Integer({
    minimum: 0,
    default: 256,
    "x-setting": "connections-per-client",
    description:
      "Most requests in progress from one address (IPv6: one /64 network); 0: no bound. Loopback is not counted: a proxy there sends many. With `http.trusted_proxies` each client behind them counts by itself.",
  }),
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
  keep_alive: T.Integer({
    minimum: 1,
    maximum: 240,
    default: 60,
    "x-setting": "keep-alive",
    description: "Seconds that a connection may be idle between an answer and the next request.",
  }),
  stall_timeout: T.Integer({
    minimum: 1,
    maximum: 3600,
    default: 60,
    "x-setting": "stall-timeout",
    description:
      "Seconds that a client may read nothing of a streamed answer; then the answer is ended. Up to 1 MiB of it is generated meanwhile; a larger one occupies its slot, and has a sixth of the time.",
  }),
  cors_origins: T.Array(
    T.String({
      pattern: "^(\\*|[a-z][a-z0-9+.-]*://[^\\s/?#@]+)$",
      "x-expected": "'*', or an origin such as 'https://app.example.org'",
    }),
    {
      default: [],
      "x-setting": "cors-origins",
      description:
        "Origins, besides the node's own, whose pages may call it from a browser, such as `https://app.example.org` or `chrome-extension://…`; `*`: all.",
    },
  ),
  allowed_hosts: T.Array(
    T.String({
      pattern: "^[A-Za-z0-9_.-]+$|^\\[[0-9A-Fa-f:.]+\\]$",
      "x-expected": "a host name without a port, such as 'node.example.org'",
    }),
    {
      default: [],
      "x-setting": "allowed-hosts",
      description:
        "Host names, besides this machine's own, by which a node on loopback is reached.",
    },
  ),
  trusted_proxies: T.Array(
    T.String({
      pattern: "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$",
      "x-expected": "an address or a range, such as '192.0.2.7' or '10.0.0.0/8'",
    }),
    {
      default: [],
      "x-setting": "trusted-proxies",
      description:
        "Addresses and ranges of proxies whose `X-Forwarded-For` is trusted: limits by address then hold for each client behind them.",
    },
  ),
});
