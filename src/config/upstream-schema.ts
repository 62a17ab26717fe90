/** The settings of a model that runs elsewhere, with their defaults. */
import { Type as T } from "@sinclair/typebox";

/** An address of a server of the OpenAI API. */
export const upstreamAddress = "^https?://[^\\s/@?#]+(/[^\\s?#]*)?$";

export const upstreamKeys = {
  replicas: T.Array(
    T.String({
      pattern: upstreamAddress,
      "x-expected": "an http(s):// address without credentials, such as 'http://gpu-2:8000/v1'",
    }),
    {
      default: [],
      description:
        "More addresses that serve the same model, where it runs elsewhere; see the page about scaling.",
    },
  ),
  upstream_model: T.Optional(
    T.String({
      minLength: 1,
      "x-default": "its name",
      description: "What the server calls the model that runs elsewhere.",
    }),
  ),
  api_key_env: T.Optional(
    T.String({
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
      "x-expected": "the name of an environment variable that holds the key, and not the key",
      description:
        "Name of the environment variable that holds the server's key, where the model runs elsewhere.",
    }),
  ),
  upstream_timeout: T.Integer({
    minimum: 0,
    maximum: 3600,
    default: 120,
    description:
      "Seconds that the server of a model that runs elsewhere may be silent, before an answer or amid it; 0: no bound.",
  }),
};

export const upstreamKeyNames = [
  "replicas",
  "upstream_model",
  "api_key_env",
  "upstream_timeout",
] as const satisfies readonly (keyof typeof upstreamKeys)[];
