/** The request's address, and the error for an address that does not exist. */
import { Type as T } from "@sinclair/typebox";
import { NodeError } from "../core/errors.ts";
import type { ErrorFormat } from "./middleware/errors.ts";
import { ollamaErrors } from "./operations/ollama/error-format.ts";

/** A client on a raw socket may send no address, or an invalid one. */
const parsed = ({ url }: Request): URL | undefined => {
  const address = URL.parse(url);
  return address?.protocol === "http:" || address?.protocol === "https:" ? address : undefined;
};

/** The path, or the whole address if it cannot be parsed. */
export const pathOf = (request: Request): string => parsed(request)?.pathname ?? request.url;

export function checkAddress(request: Request): void {
  // Clients keep a fragment to themselves, and it belongs to no path.
  if (parsed(request) !== undefined && !request.url.includes("#")) return;
  throw new NodeError(
    "invalid_request",
    "The address of the request cannot be parsed. Check its 'Host' header and its path.",
  );
}

/** HTTP/1.0 has no Host header: such a request is for the server that received it. */
export function withHost(request: Request, origin: string): Request {
  const { url, headers } = request;
  if (headers.has("host") || !url.startsWith("/")) return request;
  // `new Request(url, request)` would lose the signal. Bun makes a stream of a body that is looked at.
  const { method, body, signal } = request;
  return new Request(`${origin}${url}`, { method, headers, body, signal });
}

interface Route {
  method: string;
  path: string;
}

export function allowedMethods(routes: readonly Route[], pathname: string): string[] {
  const methods = routes
    .filter(({ path }) => isAddressOf(path, pathname))
    .map(({ method }) => method.toUpperCase());
  return [...new Set(methods)].sort();
}

/** A 405 for a wrong method on a known address, a 404 for an unknown address. */
export function missingRoute(request: Request, allowed: readonly string[]): NodeError {
  const pathname = pathOf(request);
  const absent = absentApi(pathname);
  if (absent !== undefined && (allowed.length === 0 || absent.isPart !== true)) {
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

/** Whether an address matches a route such as `/v1/models/:id`. */
export function isAddressOf(path: string, pathname: string): boolean {
  const wanted = path.split("/");
  const hasSlash = pathname.length > 1 && pathname.endsWith("/");
  // Bounded: a client may send thousands of slashes, and they would be split for every route.
  const found = (hasSlash ? pathname.slice(0, -1) : pathname).split("/", wanted.length + 1);
  return (
    wanted.length === found.length &&
    wanted.every((part, index) => part.startsWith(":") || part === found[index])
  );
}

/** An API that clients look for and this node does not have; its error format is one they read. */
interface AbsentApi {
  addresses: RegExp;
  /** What is missing, and what to do instead. */
  why: string;
  errorFormat?: ErrorFormat;
  /** Whether the node has other operations of this API, perhaps at the same address. */
  isPart?: true;
}

/** MCP clients print the description. */
const oauthErrors: ErrorFormat = {
  name: "OAuthError",
  schema: T.Object({ error: T.String(), error_description: T.String() }),
  body: (_error, { message }) => ({ error: "invalid_request", error_description: message }),
};

const absent: readonly AbsentApi[] = [
  {
    addresses: /^\/api\/(create|copy|push|blobs\/.*)$/,
    why: "This node does not make, copy or publish models: a [[models]] section of paddock.toml gives a model's file a name and its settings.",
    errorFormat: ollamaErrors,
  },
  {
    addresses: /^\/api\//,
    why: "Of Ollama's API this node has what runs, lists, describes, pulls and deletes models; /docs has all of it.",
    errorFormat: ollamaErrors,
    isPart: true,
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

export const absentApi = (pathname: string): AbsentApi | undefined =>
  absent.find(({ addresses }) => addresses.test(pathname));
