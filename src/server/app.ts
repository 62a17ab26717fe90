/** The node's HTTP interface: services in, an Elysia app out. Callers use only its `fetch` or `handle`. */
import { Elysia } from "elysia";
import { pathOf } from "./address.ts";
import { allowedMethods } from "./allowed-methods.ts";
import { docs } from "./docs.ts";
import { describe, schemasOf } from "./openapi.ts";
import { type OperationServices, operations, targetOf } from "./operations.ts";
import { page } from "./page.ts";
import { Pipeline, type PipelineSettings } from "./pipeline.ts";

export type Services = OperationServices & PipelineSettings;

export function createApp(services: Services) {
  const pipeline = new Pipeline(services);
  const app = new Elysia()
    .onRequest(({ request, set }) =>
      pipeline.receive(request, targetOf(pathOf(request)), set.headers),
    )
    .onError(({ code, error, request, set }) => {
      if (code === "NOT_FOUND") {
        const allowed = allowedMethods(app.routes, pathOf(request));
        const response = pipeline.missing(request, allowed);
        set.status = response.status;
        return response;
      }
      const response = pipeline.fail(error, request);
      set.status = response.status;
      return response;
    })
    .onAfterHandle(({ request, set }) => pipeline.time(request, set.headers))
    .onAfterResponse(({ request, set, response }) => {
      const status = response instanceof Response ? response.status : Number(set.status ?? 200);
      pipeline.responded(request, status);
    });
  for (const operation of operations) {
    const { method, path } = operation.facts;
    // Bodies are read by the pipeline, which bounds them first.
    app.route(
      method,
      path,
      // Elysia prepares for a handler only what its parameters name.
      ({ request, params, set }) => pipeline.serve(operation, services, { request, params, set }),
      { parse: "none", detail: describe(operation.facts) },
    );
  }
  const schemas = schemasOf(operations.map(({ facts }) => facts));
  return app.use(page()).use(docs({ version: services.identity().version, schemas }));
}
