/** The address of a chat's server, as a person may write it. */
import { NodeError } from "../../core/errors.ts";

/** Where the API is: without a path, `/v1` is meant. */
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
