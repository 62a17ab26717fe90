/** A node elsewhere, asked over MCP's HTTP. */
import { ApiError, statusError } from "../../client/api-error.ts";
import { given } from "../../core/given.ts";
import { toNodeError } from "../chat/server-failure.ts";
import { baseUrlOf } from "../chat/server-url.ts";

export interface RemoteOptions {
  url: string;
  key: string | undefined;
}

/** `http://host:8080`, with `/v1` or `/mcp` behind it or not. */
export const mcpUrlOf = (url: string): string => `${baseUrlOf(url).replace(/\/(v1|mcp)$/, "")}/mcp`;

/** Asks it one message; undefined where there is nothing to answer. */
export function remoteNode({ url, key }: RemoteOptions) {
  const baseUrl = mcpUrlOf(url);
  const post = async (message: object, headers: Record<string, string>, signal: AbortSignal) => {
    try {
      return await fetch(baseUrl, {
        method: "POST",
        headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
        body: JSON.stringify(message),
        // A key goes to the server that was named, and to no other.
        redirect: "manual",
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      throw new ApiError("unreachable", "Nothing answers.", { cause });
    }
  };
  return async (
    message: object,
    { signal, version }: { signal: AbortSignal; version: string | undefined },
  ): Promise<unknown> => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...given({ "mcp-protocol-version": version }),
    };
    try {
      const response = await post(message, headers, signal);
      if (!response.ok) throw await statusError(response);
      return response.status === 202 ? undefined : await response.json();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw toNodeError(error, { baseUrl, hasKey: key !== undefined });
    }
  };
}
