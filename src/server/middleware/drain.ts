/** Rejects new requests while the node stops; whoever watches it is still answered. */
import { NodeError } from "../../core/errors.ts";
import type { OperationFacts } from "../operation.ts";
import type { RequestContext } from "../request-context.ts";
import { answerError } from "./errors.ts";

/** The answer to a request that comes too late; undefined for one that is answered to the end. */
export function rejectWhileDraining(
  context: Pick<RequestContext, "id" | "errorFormat">,
  operation: OperationFacts | undefined,
): Response | undefined {
  if (operation?.whileDraining === true) return undefined;
  const stopping = new NodeError("unavailable", "The node is stopping. Ask again later.");
  return answerError(stopping, context, { connection: "close" });
}
