/** The node's HTTP interface: services in, an Elysia app out. Callers use only its `fetch` or `handle`. */
import { Elysia } from "elysia";
import { allowedMethods, missingRoute } from "./allowed-methods.ts";
import { docs } from "./docs.ts";
import { answerPreflight, corsHeaders } from "./middleware/cors.ts";
import { rejectWhileDraining } from "./middleware/drain.ts";
import { errorResponse, toNodeError } from "./middleware/errors.ts";
import { checkForwarded } from "./middleware/forwarded.ts";
import { checkHost } from "./middleware/host.ts";
import { requestId, requestIdHeader } from "./middleware/request-id.ts";
import { type ChatRoutesServices, chatRoutes } from "./operations/chat/routes.ts";
import { chatSchemas } from "./operations/chat/schema.ts";
import { type EmbeddingRoutesServices, embeddingRoutes } from "./operations/embeddings/routes.ts";
import { embeddingSchemas } from "./operations/embeddings/schema.ts";
import { type OperationRoutesServices, operationRoutes } from "./operations/health/routes.ts";
import { operationSchemas } from "./operations/health/schema.ts";
import { type InfoRoutesServices, infoRoutes } from "./operations/info/routes.ts";
import { infoSchemas } from "./operations/info/schema.ts";
import { modelRoutes } from "./operations/models/routes.ts";
import { modelSchemas } from "./operations/models/schema.ts";
import { type RetrieveRoutesServices, retrieveRoutes } from "./operations/retrieve/routes.ts";
import { retrieveSchemas } from "./operations/retrieve/schema.ts";
import { page } from "./page.ts";
import { clientGone, type ExchangeWitnesses, exchangeOf, openExchange } from "./request-context.ts";
import { ErrorAnswer } from "./wire/error-schema.ts";

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
        (services.isDraining() ? rejectWhileDraining(request) : undefined);
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
