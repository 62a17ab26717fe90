/** CORS: which pages of other origins may ask the node from a browser; without configuration none. */

const methods = "GET, POST, DELETE, OPTIONS";
const exposed = [
  "retry-after",
  "x-request-id",
  "request-id",
  ...["limit", "remaining", "reset"].flatMap((part) =>
    ["requests", "tokens"].flatMap((what) => [
      `x-ratelimit-${part}-${what}`,
      `anthropic-ratelimit-${what}-${part}`,
    ]),
  ),
  "x-paddock-ignored",
  "x-paddock-retrieval",
  "x-paddock-notice",
  "x-paddock-max-file-bytes",
  "x-should-retry",
].join(", ");
const preflightSeconds = 600;

/** What every answer carries. Never credentials: a key is sent by the page itself, as a header. */
export function corsHeaders(request: Request, origins: readonly string[]): Record<string, string> {
  if (origins.length === 0) return {};
  const isOpen = origins.includes("*");
  const vary = isOpen ? {} : { vary: "origin" };
  const origin = request.headers.get("origin");
  if (origin === null || !(isOpen || origins.includes(origin))) return vary;
  return {
    ...vary,
    "access-control-allow-origin": isOpen ? "*" : origin,
    "access-control-expose-headers": exposed,
  };
}

/** The answer to a preflight request; undefined for any other request, or for an origin that may not ask. */
export function answerPreflight(
  request: Request,
  origins: readonly string[],
): Response | undefined {
  const { method, headers } = request;
  const allowed = corsHeaders(request, origins);
  if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
  if (allowed["access-control-allow-origin"] === undefined) return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": methods,
      // Clients send headers of their own beside the known ones, and none is refused without a browser.
      "access-control-allow-headers": requested(headers),
      "access-control-max-age": String(preflightSeconds),
    },
  });
}

const known = ["authorization", "content-type", "accept", "x-request-id"];
const headerName = /^[a-z0-9-]{1,64}$/;

function requested(headers: Headers): string {
  const asked = (headers.get("access-control-request-headers") ?? "").toLowerCase().split(",");
  const names = asked.map((name) => name.trim()).filter((name) => headerName.test(name));
  return [...new Set([...known, ...names])].slice(0, 64).join(", ");
}
