/** Reads a request's body as bytes, whole or refused: JSON by its type, not too large, and in time. */
import { NodeError } from "../../core/errors.ts";

export interface BodyLimits {
  maxBodyBytes: number;
  /** How long it may take to arrive. */
  bodyTimeoutMs: number;
}

export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const { maxBodyBytes: maxBytes } = limits;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new NodeError(
      "unsupported_media_type",
      `The body must be JSON, sent with 'Content-Type: application/json'; found ${type ? `'${type}'` : "no content type"}.`,
    );
  }
  const tooLarge = new NodeError(
    "payload_too_large",
    `The body is larger than the ${maxBytes} bytes that this node takes.`,
  );
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of inTime(request.body, limits.bodyTimeoutMs)) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The chunks until the time is up. It is counted for the whole body, so that a trickle is late too. */
async function* inTime(
  body: ReadableStream<Uint8Array> | null,
  ms: number,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(overdue(ms / 1000)), ms);
  // Nobody awaits it after a body that came in time.
  late.catch(() => {});
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // Nobody reads what is still to come; after the end this does nothing.
    reader.cancel().catch(() => {});
  }
}

const overdue = (seconds: number): NodeError =>
  new NodeError(
    "body_timeout",
    `The body did not arrive within the ${seconds} s that this node waits for it (limits.body_timeout).`,
  );
