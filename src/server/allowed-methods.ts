/** Tells a wrong method on a known address from an unknown address. */
import { NodeError } from "../core/errors.ts";
import { absentApi } from "./absent-apis.ts";
import { pathOf } from "./address.ts";

export interface Route {
  method: string;
  path: string;
}

/** The methods that the routes have for an address, sorted. */
export function allowedMethods(routes: readonly Route[], pathname: string): string[] {
  const methods = routes
    .filter(({ path }) => isAddressOf(path, pathname))
    .map(({ method }) => method.toUpperCase());
  return [...new Set(methods)].sort();
}

export function missingRoute(request: Request, allowed: readonly string[]): NodeError {
  const pathname = pathOf(request);
  const absent = absentApi(pathname);
  if (absent !== undefined) {
    const message = `There is nothing at ${request.method} ${pathname}. ${absent.why}`;
    return new NodeError("not_found", message);
  }
  if (allowed.length > 0) {
    return new NodeError(
      "method_not_allowed",
      `${request.method} is not possible at ${pathname}; use ${allowed.join(" or ")}.`,
    );
  }
  return new NodeError(
    "not_found",
    `There is nothing at ${request.method} ${pathname}. The API is under /v1; /docs describes it.`,
  );
}

/** Whether an address is that of a route: `/v1/models/:id`. */
export function isAddressOf(path: string, pathname: string): boolean {
  const wanted = path.split("/");
  const found = pathname.replace(/(?<=.)\/$/, "").split("/");
  return (
    wanted.length === found.length &&
    wanted.every((part, index) => part.startsWith(":") || part === found[index])
  );
}
