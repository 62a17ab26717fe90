/** Maps failures of the client to the node's errors, and says how often each is retried. */
import {
  QdrantClientResourceExhaustedError,
  QdrantClientTimeoutError,
} from "@qdrant/js-client-rest";
import { NodeError, reasonOf } from "../../core/errors.ts";

export interface ServerInWords {
  /** Its address, without a credential. */
  url: string;
  hasKey: boolean;
  timeoutMs: number;
}

/** An answer of the server that is not a result. */
interface Refusal {
  status: number;
  /** Qdrant's own message; absent where something else answered, such as a proxy. */
  reason: string | undefined;
}

export function toNodeError(error: unknown, { url, hasKey, timeoutMs }: ServerInWords): NodeError {
  const unavailable = (words: string): NodeError =>
    new NodeError("unavailable", `Qdrant at ${url} ${words}`, { cause: error });
  if (error instanceof NodeError) return error;
  if (error instanceof QdrantClientTimeoutError) {
    return unavailable(
      `did not answer within ${timeoutMs / 1000} s. Check that it is well and not overloaded.`,
    );
  }
  if (connectionCodeOf(error) !== undefined) {
    return unavailable(
      `cannot be reached (${reasonOf(error)}). Check that it is running and that the address is right.`,
    );
  }
  const refusal = refusalOf(error);
  if (refusal === undefined) {
    return unavailable(
      `gave an answer that cannot be read (${reasonOf(error)}). Check that the address is a Qdrant server's.`,
    );
  }
  const { status, reason } = refusal;
  const because = `${status}${reason === undefined ? "" : `: ${reason}`}`;
  if (status === 401 || status === 403) {
    return unavailable(
      hasKey
        ? `refuses the API key (${status}). Give the node the key that the server was started with.`
        : `asks for an API key (${status}). Give the node the key that the server was started with.`,
    );
  }
  if (status === 404 && reason === undefined) {
    return unavailable("knows no such path (404). Check that the address is a Qdrant server's.");
  }
  if (status === 404) return unavailable(`does not have what was asked for (${because}).`);
  if (isPassing(status)) {
    return unavailable(`cannot answer now (${because}). Try again later.`);
  }
  return new NodeError("internal", `Qdrant at ${url} refused a request (${because}).`, {
    cause: error,
  });
}

/** A timeout is not retried: that would only burden a slow server more. */
export function retriesFor(error: unknown): number {
  if (isTimeout(error)) return 0;
  if (connectionCodeOf(error) !== undefined) return 2;
  const status = refusalOf(error)?.status ?? 0;
  return isPassing(status) ? 2 : 0;
}

/** 408: it was given up by the server itself, as after a pause of the machine. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500;

export const isTimeout = (error: unknown): boolean => error instanceof QdrantClientTimeoutError;

/** The result, or undefined where Qdrant itself answers with that status. */
export async function unlessRefused<Result>(
  status: number,
  result: Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal?.status === status && refusal.reason !== undefined) return undefined;
    throw error;
  }
}

function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof QdrantClientResourceExhaustedError) {
    return { status: 429, reason: error.message };
  }
  // The client's class for these cannot be imported, and has no name of its own.
  if (!(error instanceof Error && "status" in error && typeof error.status === "number")) {
    return undefined;
  }
  return { status: error.status, reason: "data" in error ? reasonIn(error.data) : undefined };
}

/** `{ status: { error: "…" } }` */
function reasonIn(body: unknown): string | undefined {
  const status = field(body, "status");
  const reason = field(status, "error");
  return typeof reason === "string" ? reason : undefined;
}

/** Bun's `fetch` names what went wrong with a connection: ECONNREFUSED, ENOTFOUND, a certificate's fault … */
function connectionCodeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? field(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
