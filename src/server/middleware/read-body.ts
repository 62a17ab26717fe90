/** Reads a request's body as it comes, within bounds of size, time and the memory of all requests. */
import { untilAborted } from "../../core/abort.ts";
import { NodeError } from "../../core/errors.ts";
import { quoted } from "../../core/quoted.ts";
import { nextTurn } from "../../core/turns.ts";

export interface BodyLimits {
  maxBodyBytes: number;
  bodyTimeoutMs: number;
}

/** What a request holds in memory besides its own few fields. */
export interface HeldBytes extends Disposable {
  /** Throws if there is no room for more. */
  add(bytes: number): void;
}

/** Bytes that all requests in progress hold: their bodies, and what was read for them. */
export class RequestMemory {
  readonly #most: () => number;
  readonly #ofCallers = new Map<string, number>();
  #held = 0;

  /** `most` may change while requests are answered. */
  constructor(most: () => number) {
    this.#most = most;
  }

  get held(): number {
    return this.#held;
  }

  /** Counts until it is disposed of; the beginning is free, so that short requests always get in. */
  begin(caller: string): HeldBytes {
    let all = 0;
    let counted = 0;
    return {
      add: (bytes) => {
        all += bytes;
        const more = Math.max(0, all - freeBytes) - counted;
        if (more <= 0) return;
        if (2 * (counted + more) > this.#most()) {
          const why =
            "The answer to this request takes more memory than a caller may have on this node (limits.max_body_bytes). Send less at once.";
          throw new NodeError("payload_too_large", why);
        }
        // A caller never holds more than it leaves to others.
        const own = (this.#ofCallers.get(caller) ?? 0) + more;
        if (own > this.#most() - this.#held - more) {
          const why =
            "Other requests in progress take all the memory for large bodies, images, vectors and answers. Try again later.";
          throw new NodeError("overloaded", why);
        }
        counted += more;
        this.#held += more;
        this.#ofCallers.set(caller, own);
      },
      [Symbol.dispose]: () => {
        this.#held -= counted;
        const left = (this.#ofCallers.get(caller) ?? 0) - counted;
        if (left > 0) this.#ofCallers.set(caller, left);
        else this.#ofCallers.delete(caller);
        counted = 0;
      },
    };
  }
}

const freeBytes = 64 * 1024;

/** Of the largest bodies; half of them for a lone caller. */
export const mostLargeBodies = 32;

/** The complete body; rejects one that is not `application/json`, too large or too late. */
export async function readBody(
  request: Request,
  limits: BodyLimits,
  held: Pick<HeldBytes, "add">,
  { takesAnyType = false }: { takesAnyType?: boolean } = {},
): Promise<Uint8Array> {
  const { maxBodyBytes: maxBytes } = limits;
  checkEncoding(request);
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json" && !takesAnyType) {
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
    held.add(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Rejects a compressed body: its size would be known only when it is unpacked. */
export function checkEncoding({ headers }: Pick<Request, "headers">): void {
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding.toLowerCase() === "identity") return;
  throw new NodeError(
    "unsupported_media_type",
    `The body must not be compressed; found ${quoted(`Content-Encoding: ${encoding}`)}. Send it as it is.`,
  );
}

/** Chunks that are read in a turn of the loop. What comes until the next turn is one chunk, however small its parts were sent. */
export const mostInTurn = 16;

/** The chunks, within a time limit for the whole body, so that a trickle is late too. */
async function* inTime(
  body: ReadableStream<Uint8Array> | null,
  ms: number,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  const late = new AbortController();
  const overdue = `The body did not arrive within the ${ms / 1000} s that this node waits for it (limits.body_timeout).`;
  const timer = setTimeout(() => late.abort(new NodeError("body_timeout", overdue)), ms);
  try {
    for (let read = 1; ; read++) {
      if (read % mostInTurn === 0) await nextTurn();
      const { done, value } = await untilAborted(reader.read(), late.signal);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    // Drops the rest of the body; does nothing after its end.
    reader.cancel().catch(() => {});
  }
}
