/** Failures as MCP has them: of the protocol, with a code, or of a tool, which a model may read. */
import type { ErrorKind } from "../core/errors.ts";
import { errorBody, toNodeError } from "../server/middleware/errors.ts";

/** An error of JSON-RPC; the SDK's own puts a prefix before the sentence. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const rpcCodes = { invalidParams: -32602, internal: -32603, noSuchResource: -32002 };

/** By what the specification of MCP, or of JSON-RPC, calls it; all else is an internal error. */
const codes: Partial<Record<ErrorKind, number>> = {
  invalid_request: rpcCodes.invalidParams,
  context_length_exceeded: rpcCodes.invalidParams,
  no_such_object: rpcCodes.noSuchResource,
};

/** A sentence for the caller; of what was not foreseen it tells nothing, and `onFault` hears it. */
export function toRpcError(error: unknown, onFault: (error: unknown) => void): RpcError {
  if (error instanceof RpcError) return error;
  const known = toNodeError(error);
  if (known.kind === "internal") onFault(error);
  return new RpcError(codes[known.kind] ?? rpcCodes.internal, errorBody(known).error.message);
}
