/** The node's HTTP interface: services in, an Elysia app out. Callers use only its `fetch` or `handle`. */
import { Elysia } from "elysia";
import { type ChatRoutesServices, chatRoutes } from "./api/chat/routes.ts";
import { chatSchemas } from "./api/chat/schema.ts";
import { type EmbeddingRoutesServices, embeddingRoutes } from "./api/embeddings/routes.ts";
import { embeddingSchemas } from "./api/embeddings/schema.ts";
import { ErrorAnswer } from "./api/error-schema.ts";
import { type InfoRoutesServices, infoRoutes } from "./api/info/routes.ts";
import { infoSchemas } from "./api/info/schema.ts";
import { modelRoutes } from "./api/models/routes.ts";
import { modelSchemas } from "./api/models/schema.ts";
import { type OperationRoutesServices, operationRoutes } from "./api/operations/routes.ts";
import { operationSchemas } from "./api/operations/schema.ts";
import { type RetrieveRoutesServices, retrieveRoutes } from "./api/retrieve/routes.ts";
import { retrieveSchemas } from "./api/retrieve/schema.ts";
import { answerPreflight, corsHeaders } from "./http/cors.ts";
import { docs } from "./http/docs.ts";
import { refuseLate } from "./http/draining.ts";
import { errorResponse, toNodeError } from "./http/errors.ts";
import { clientGone, type ExchangeWitnesses, exchangeOf, openExchange } from "./http/exchange.ts";
import { checkForwarded } from "./http/forwarded.ts";
import { checkHost } from "./http/host.ts";
import { page } from "./http/page.ts";
import { requestId, requestIdHeader } from "./http/request-id.ts";
import { allowedMethods, missingRoute } from "./http/routes.ts";

export type Services = ChatRoutesServices &
  EmbeddingRoutesServices &
  RetrieveRoutesServices &
  InfoRoutesServices &
  OperationRoutesServices &
  ExchangeWitnesses & {
    /** Origins whose pages may ask. */
    corsOrigins: readonly string[];
    /** Whether everyone is served without keys, also through a proxy. */
    isOpen: boolean;
    /** Names besides this machine's own that requests may be for; absent: any. */
    allowedHosts?: readonly string[];
  };

export function createApp(services: Services) {
  const { log, access, isOpen, metricsOpen } = services;
  const forwardedRules = { wantsKeys: () => access.wantsKeys(), isOpen, metricsOpen };
  const app = new Elysia()
    .onRequest(({ request, set }) => {
      const id = requestId(request);
      set.headers[requestIdHeader] = id;
      const exchange = openExchange(request, id, services);
      set.headers["x-content-type-options"] = "nosniff";
      Object.assign(set.headers, corsHeaders(request, services.corsOrigins));
      if (services.allowedHosts !== undefined) checkHost(request, services.allowedHosts);
      checkForwarded(request, forwardedRules);
      const early =
        answerPreflight(request, services.corsOrigins) ??
        (services.isDraining() ? refuseLate(request) : undefined);
      // An answer from here passes by the hooks below.
      if (early !== undefined) exchange.responded(early.status);
      return early;
    })
    .onError(({ code, error, request, set }) => {
      if (code === "NOT_FOUND") {
        const allowed = allowedMethods(app.routes, new URL(request.url).pathname);
        const missing = missingRoute(request, allowed);
        set.status = errorResponse(missing).status;
        return errorResponse(missing, allowed.length > 0 ? { allow: allowed.join(", ") } : {});
      }
      if (request.signal.aborted) {
        // Nobody is left to read it; the log must not count it as a failure of the node.
        set.status = clientGone;
        return new Response(null, { status: clientGone });
      }
      const known = toNodeError(error);
      if (known.kind === "internal") {
        log.error("a request failed", { id: set.headers[requestIdHeader], error });
      }
      const response = errorResponse(known);
      set.status = response.status;
      return response;
    })
    .onAfterHandle(({ request, set }) => {
      const timing = exchangeOf(request).serverTiming();
      if (timing !== "") set.headers["server-timing"] = timing;
    })
    .onAfterResponse(({ request, set, response }) => {
      const status = response instanceof Response ? response.status : Number(set.status ?? 200);
      exchangeOf(request).responded(status);
    })
    .use(chatRoutes(services))
    .use(embeddingRoutes(services))
    .use(retrieveRoutes(services))
    .use(modelRoutes(services))
    .use(infoRoutes(services))
    .use(operationRoutes(services))
    .use(page())
    .use(
      docs({
        version: services.identity().version,
        schemas: {
          ...chatSchemas,
          ...embeddingSchemas,
          ...retrieveSchemas,
          ...modelSchemas,
          ...infoSchemas,
          ...operationSchemas,
          Error: ErrorAnswer,
        },
      }),
    );
  return app;
}
