/** An OpenTelemetry collector that keeps the spans it is sent over OTLP as JSON. */
import { type Static, Type as T } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

const Attribute = T.Object({
  key: T.String(),
  value: T.Object({
    stringValue: T.Optional(T.String()),
    intValue: T.Optional(T.Integer()),
    doubleValue: T.Optional(T.Number()),
  }),
});

const Span = T.Object({
  traceId: T.String({ pattern: "^[0-9a-f]{32}$" }),
  spanId: T.String({ pattern: "^[0-9a-f]{16}$" }),
  parentSpanId: T.Optional(T.String({ pattern: "^[0-9a-f]{16}$" })),
  name: T.String({ minLength: 1 }),
  kind: T.Integer(),
  startTimeUnixNano: T.String({ pattern: "^[0-9]+$" }),
  endTimeUnixNano: T.String({ pattern: "^[0-9]+$" }),
  attributes: T.Array(Attribute),
  status: T.Object({ code: T.Integer() }),
});

const ExportTraces = T.Object({
  resourceSpans: T.Array(
    T.Object({
      resource: T.Object({ attributes: T.Array(Attribute) }),
      scopeSpans: T.Array(T.Object({ spans: T.Array(Span) })),
    }),
  ),
});

export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Absent: the trace begins with it. */
  parent?: string;
  name: string;
  isServer: boolean;
  failed: boolean;
  from: bigint;
  to: bigint;
  attributes: Record<string, string | number>;
}

export interface OtlpCollector extends AsyncDisposable {
  endpoint: string;
  spans: CollectedSpan[];
}

export function otlpCollector(port = 0): OtlpCollector {
  const spans: CollectedSpan[] = [];
  const server = Bun.serve({
    port,
    hostname: "127.0.0.1",
    async fetch(request) {
      const isExport = request.method === "POST" && new URL(request.url).pathname === "/v1/traces";
      if (!isExport || request.headers.get("content-type") !== "application/json") {
        return new Response("Not an export of traces as JSON", { status: 400 });
      }
      spans.push(...decode(await request.json()));
      return Response.json({});
    },
  });
  return {
    endpoint: server.url.origin,
    spans,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

function decode(body: unknown): CollectedSpan[] {
  if (!Value.Check(ExportTraces, body)) throw new Error(`Not OTLP: ${JSON.stringify(body)}`);
  return body.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => toSpan(span, attributesOf(resource.attributes))),
    ),
  );
}

const attributesOf = (list: readonly Static<typeof Attribute>[]) =>
  Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      value.stringValue ?? value.intValue ?? value.doubleValue ?? "",
    ]),
  );

const toSpan = (
  span: Static<typeof Span>,
  resource: Record<string, string | number>,
): CollectedSpan => ({
  service: String(resource["service.name"]),
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentSpanId === undefined ? {} : { parent: span.parentSpanId }),
  name: span.name,
  isServer: span.kind === 2,
  failed: span.status.code === 2,
  from: BigInt(span.startTimeUnixNano),
  to: BigInt(span.endTimeUnixNano),
  attributes: attributesOf(span.attributes),
});
