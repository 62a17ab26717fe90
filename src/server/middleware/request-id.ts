/** The id that an answer and its log lines share: the caller's own, where it sent a usable one. */

export const requestIdHeader = "x-request-id";

const usable = /^[A-Za-z0-9._-]{1,128}$/;

export function requestId(request: Request): string {
  const offered = request.headers.get(requestIdHeader);
  return offered !== null && usable.test(offered) ? offered : `req_${crypto.randomUUID()}`;
}
