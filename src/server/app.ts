/** The node's HTTP interface: services in, an Elysia app out. Callers use only its `fetch` or `handle`. */
import { Elysia } from "elysia";
import { allowedMethods, pathOf } from "./address.ts";
import { docs } from "./docs.ts";
import { describe, schemasOf } from "./openapi.ts";
import { type OperationServices, operations, type pageAddresses, targetOf } from "./operations.ts";
import { type PageSettings, page } from "./page.ts";
import { Pipeline, type PipelineSettings } from "./pipeline.ts";
import { contextOf, type ResponseHeaders } from "./request-context.ts";

export type Services = OperationServices & PipelineSettings & PageSettings;

export function createApp(services: Services) {
  const pipeline = new Pipeline(services);
  const app = new Elysia()
    .onError(({ code, error, request, set }) => {
      const response =
        code === "NOT_FOUND" ? missing(request, set.headers) : pipeline.fail(error, request);
      set.status = response.status;
      return response;
    })
    .onAfterHandle(({ request, set }) => {
      const timing = contextOf(request).serverTiming();
      if (timing !== "") set.headers["server-timing"] = timing;
    })
    .onAfterResponse(({ request, set, response }) => {
      const own = response instanceof Response ? response.status : 200;
      // A response of 200 is sent with the status that was set.
      contextOf(request).responded(own === 200 ? Number(set.status ?? own) : own);
    });
  const missing = (request: Request, headers: ResponseHeaders): Response => {
    const pathname = pathOf(request);
    const allowed = allowedMethods(app.routes, pathname);
    return pipeline.missing(request, targetOf(pathname), headers, allowed);
  };
  for (const operation of operations) {
    const { method, path } = operation.facts;
    // The pipeline reads the body, since it checks the size first.
    app.route(
      method,
      path,
      // Elysia prepares only what a handler's parameters name.
      ({ request, params, set }) => pipeline.serve(operation, services, { request, params, set }),
      { parse: "none", detail: describe(operation.facts) },
    );
  }
  const pages = (name: keyof typeof pageAddresses) =>
    new Elysia().onBeforeHandle(({ request, set }) =>
      pipeline.receive(request, { name }, set.headers),
    );
  const schemas = schemasOf(operations.map(({ facts }) => facts));
  return app
    .use(pages("page").use(page(services)))
    .use(pages("docs").use(docs({ version: services.identity().version, schemas })));
}
