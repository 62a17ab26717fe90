/** Who watches the node. */
import { Type as T } from "@sinclair/typebox";

const strict = { additionalProperties: false } as const;

export const Metrics = T.Object(
  {
    open: T.Boolean({
      default: false,
      description: "Show `/metrics` to those without a key, where keys are wanted.",
    }),
  },
  { ...strict, default: {} },
);

export const Telemetry = T.Object(
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
