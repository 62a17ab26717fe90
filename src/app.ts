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
import { docs } from "./http/docs.ts";
import { refuseLate } from "./http/draining.ts";
import { errorResponse, toNodeError } from "./http/errors.ts";
import { page } from "./http/page.ts";
import { requestId, requestIdHeader } from "./http/request-id.ts";
import { allowedMethods, missingRoute } from "./http/routes.ts";

export type Services = ChatRoutesServices &
  EmbeddingRoutesServices &
  RetrieveRoutesServices &
  InfoRoutesServices &
  OperationRoutesServices;

/** The status that proxies log for a request whose client went away. */
const clientGone = 499;

export function createApp(services: Services) {
  const { log } = services;
  const startedAt = new WeakMap<Request, number>();
  const app = new Elysia()
    .onRequest(({ request, set }) => {
      startedAt.set(request, performance.now());
      set.headers[requestIdHeader] = requestId(request);
      return services.isDraining() ? refuseLate(request) : undefined;
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
    .onAfterResponse(({ request, set, response }) => {
      log.info("request", {
        id: set.headers[requestIdHeader],
        method: request.method,
        path: new URL(request.url).pathname,
        status: response instanceof Response ? response.status : (set.status ?? 200),
        ms: Math.round(performance.now() - (startedAt.get(request) ?? 0)),
      });
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
