/** Calls to a Qdrant server: with a timeout, retries, a circuit breaker, and the node's errors. */
import { QdrantClient } from "@qdrant/js-client-rest";
import { copyOf, NodeError } from "../../core/errors.ts";
import { qdrantAddress } from "./address.ts";
import { isTimeout, retriesFor, toNodeError } from "./errors.ts";

export interface QdrantOptions {
  /** `http://host:6333`, `https://host/path`. */
  url: string;
  apiKey?: string;
  /** How long the server may take to answer a question; a change may take six times as long. */
  timeoutMs?: number;
}

/** Calls are retried, so each must be idempotent. */
type Call<Result> = (client: QdrantClient) => Promise<Result>;

const defaultTimeoutMs = 5000;
const changeFactor = 6;
const firstPauseMs = 150;

export class QdrantConnection {
  /** The server's address, without a credential. */
  readonly url: string;
  readonly #hasKey: boolean;
  readonly #timeoutMs: number;
  readonly #reading: QdrantClient;
  readonly #changing: QdrantClient;
  /** Circuit breaker: after a timeout, calls fail at once for a while instead of waiting in vain. */
  #openCircuit: { error: NodeError; until: number } | undefined;

  constructor({ url, apiKey = "", timeoutMs = defaultTimeoutMs }: QdrantOptions) {
    const address = qdrantAddress(url);
    const headers = {
      // Qdrant sends compressed answers in pieces, and its last piece waits for the delayed
      // acknowledgement of those before: 44 ms a search instead of one.
      "accept-encoding": "identity",
      ...(apiKey !== "" && { "api-key": checkedKey(apiKey) }),
    };
    const clientFor = (timeout: number): QdrantClient =>
      new QdrantClient({ ...address.client, headers, timeout, checkCompatibility: false });
    this.url = address.shown;
    this.#hasKey = apiKey !== "";
    this.#timeoutMs = timeoutMs;
    this.#reading = clientFor(timeoutMs);
    this.#changing = clientFor(timeoutMs * changeFactor);
  }

  read<Result>(call: Call<Result>): Promise<Result> {
    return this.#withRetries(this.#timeoutMs, () => call(this.#reading));
  }

  change<Result>(call: Call<Result>): Promise<Result> {
    return this.#withRetries(this.#timeoutMs * changeFactor, () => call(this.#changing));
  }

  async #withRetries<Result>(timeoutMs: number, call: () => Promise<Result>): Promise<Result> {
    if (this.#openCircuit !== undefined && performance.now() < this.#openCircuit.until) {
      throw copyOf(this.#openCircuit.error);
    }
    for (let tried = 0; ; tried++) {
      try {
        const result = await call();
        this.#openCircuit = undefined;
        return result;
      } catch (error) {
        if (tried >= retriesFor(error)) {
          const known = toNodeError(error, { url: this.url, hasKey: this.#hasKey, timeoutMs });
          if (isTimeout(error)) {
            this.#openCircuit = { error: known, until: performance.now() + this.#timeoutMs };
          }
          throw known;
        }
      }
      await Bun.sleep(firstPauseMs * 2 ** tried * (0.5 + Math.random()));
    }
  }
}

/** Checked here, because the error for an invalid header would show its value, the key. */
function checkedKey(apiKey: string): string {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new NodeError(
    "invalid_request",
    "The API key for the Qdrant server holds spaces or characters that a key cannot have.",
  );
}
