/** The server of `--url`, for chat and MCP: its base URL, and its errors as messages. */
import type { ApiError } from "../client/api-error.ts";
import { NodeError, reasonOf } from "../core/errors.ts";

/** The API's base URL. Without a path, `/v1` is added. */
export function baseUrlOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new NodeError(
      "invalid_request",
      `'${url}' is no address of a server; write it as http://127.0.0.1:8080 or https://host/v1.`,
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new NodeError(
      "invalid_request",
      "The address holds a credential; set the environment variable PADDOCK_KEY instead.",
    );
  }
  const path = parsed.pathname.replace(/\/+$/, "");
  return `${parsed.origin}${path === "" ? "/v1" : path}`;
}

/** Why the server at `baseUrl` did not answer, and what to do about it. */
export function toNodeError(
  { kind, status = 0, headers, serverMessage, cause }: ApiError,
  { baseUrl, hasKey }: { baseUrl: string; hasKey: boolean },
): NodeError {
  if (kind === "unreachable") {
    return new NodeError(
      "unavailable",
      `Nothing answers at ${baseUrl} (${reasonOf(cause)}). Check the address, and that the server runs.`,
      { cause },
    );
  }
  const location = headers?.get("location") ?? null;
  if (status >= 300 && status < 400 && location !== null) {
    return new NodeError("unavailable", `${baseUrl} has moved; give its new address: ${location}`);
  }
  const said = serverMessage === undefined ? "" : ` ${serverMessage}`;
  if (status === 401) {
    const advice = hasKey
      ? "PADDOCK_KEY holds another."
      : "Set the environment variable PADDOCK_KEY to one.";
    return new NodeError("unauthenticated", `The server wants a key (401).${said} ${advice}`);
  }
  // FastAPI, which vLLM and others are built on, answers so.
  if (status === 404 && (said === "" || serverMessage === "Not Found")) {
    return new NodeError(
      "not_found",
      `${baseUrl} knows no such path (404). Check the address; most end in /v1.`,
    );
  }
  return new NodeError("unavailable", `The server refused (${status}).${said}`);
}
