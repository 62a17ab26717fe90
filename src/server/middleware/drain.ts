/** What a node that was asked to stop still answers: those who watch it, and nobody else. */
import { NodeError } from "../../core/errors.ts";
import { errorResponse } from "./errors.ts";

const watched = new Set(["/health", "/ready", "/metrics"]);

/** The answer to a request that comes too late; undefined for one that is answered to the end. */
export function rejectWhileDraining(request: Request): Response | undefined {
  if (watched.has(new URL(request.url).pathname)) return undefined;
  const stopping = new NodeError("unavailable", "The node is stopping. Ask again later.");
  return errorResponse(stopping, { connection: "close" });
}
