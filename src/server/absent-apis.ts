/** APIs that clients look for and this node does not have: they are told so in the form that they read. */
import { Type as T } from "@sinclair/typebox";
import type { ErrorFormat } from "./middleware/errors.ts";

interface AbsentApi {
  addresses: RegExp;
  /** What is not done, and what to do instead. */
  why: string;
  /** Default: as the OpenAI API has them. */
  errorFormat?: ErrorFormat;
}

/** Its clients print `error` as it is. */
const ollamaErrors: ErrorFormat = {
  name: "OllamaError",
  schema: T.Object({ error: T.String() }),
  body: (_error, { message }) => ({ error: message }),
};

/** Clients of MCP print the description. */
const oauthErrors: ErrorFormat = {
  name: "OAuthError",
  schema: T.Object({ error: T.String(), error_description: T.String() }),
  body: (_error, { message }) => ({ error: "invalid_request", error_description: message }),
};

const absent: readonly AbsentApi[] = [
  {
    addresses: /^\/api\//,
    why: "This node does not have Ollama's API; choose the OpenAI provider of your program, with this node's address and /v1 as its base address.",
    errorFormat: ollamaErrors,
  },
  {
    addresses: /^\/(register|authorize|token|\.well-known\/(oauth-|openid-).*)$/,
    why: "This node has no OAuth and nobody signs in; an API key is missing or wrong. Send the header 'Authorization: Bearer <key>' to /mcp.",
    errorFormat: oauthErrors,
  },
  {
    addresses: /^\/v1\/responses\/compact$/,
    why: "This node does not compact conversations; send 'truncation': 'auto' to /v1/responses, which leaves out the oldest messages of one that is too long.",
  },
];

/** The API that an address would be of; undefined for every other address. */
export const absentApi = (pathname: string): AbsentApi | undefined =>
  absent.find(({ addresses }) => addresses.test(pathname));
