/** The whole of a response, as far as it may be long. */
import type { UpstreamResponse } from "./http-exchange.ts";

/** Undefined where it is longer. */
export async function readText(
  response: UpstreamResponse,
  mostBytes: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.bytes()) {
    length += chunk.length;
    if (length > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
