/** Calls to a Qdrant server: bounded in time, tried again where that can help, failing in the node's words. */
import { QdrantClient } from "@qdrant/js-client-rest";
import { NodeError } from "../../core/errors.ts";
import { qdrantAddress } from "./address.ts";
import { isTimeout, retriesFor, toNodeError } from "./errors.ts";

export interface QdrantOptions {
  /** `http://host:6333`, `https://host/path`. */
  url: string;
  apiKey?: string;
  /** How long the server may take to answer a question; a change may take six times as long. */
  timeoutMs?: number;
}

/** Every call must be one that may be made twice. */
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
  /** A server that kept one caller waiting in vain does not keep the next: they are told at once, for a while. */
  #silent: { error: NodeError; until: number } | undefined;

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
    return this.#persist(this.#timeoutMs, () => call(this.#reading));
  }

  change<Result>(call: Call<Result>): Promise<Result> {
    return this.#persist(this.#timeoutMs * changeFactor, () => call(this.#changing));
  }

  async #persist<Result>(timeoutMs: number, call: () => Promise<Result>): Promise<Result> {
    if (this.#silent !== undefined && performance.now() < this.#silent.until) {
      throw this.#silent.error;
    }
    for (let tried = 0; ; tried++) {
      try {
        const result = await call();
        this.#silent = undefined;
        return result;
      } catch (error) {
        if (tried >= retriesFor(error)) {
          const known = toNodeError(error, { url: this.url, hasKey: this.#hasKey, timeoutMs });
          if (isTimeout(error)) {
            this.#silent = { error: known, until: performance.now() + this.#timeoutMs };
          }
          throw known;
        }
      }
      await Bun.sleep(firstPauseMs * 2 ** tried * (0.5 + Math.random()));
    }
  }
}

/** What refuses a header's value shows the value, so it is looked at before. */
function checkedKey(apiKey: string): string {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new NodeError(
    "invalid_request",
    "The API key for the Qdrant server holds spaces or characters that a key cannot have.",
  );
}
