/**
 * Hears of changes of the shared keys as they happen. What it misses is found by asking: a message
 * that nobody hears is gone.
 */
import type { RedisClient } from "bun";
import { within } from "./connect.ts";
import type { RedisConnection } from "./connection.ts";

const subscribeMs = 2000;

export class KeyChanges implements Disposable {
  readonly #connection: RedisConnection;
  readonly #channel: string;
  readonly #onChange: () => void;
  /** A connection of its own: one that is subscribed takes no other commands. */
  #client: RedisClient | undefined;
  #isDisposed = false;

  constructor(connection: RedisConnection, channel: string, onChange: () => void) {
    this.#connection = connection;
    this.#channel = channel;
    this.#onChange = onChange;
    connection.watch({ up: () => {}, down: () => this.#drop() });
  }

  /** Subscribes where it is not; a failure is tried again with the next call. */
  async listen(): Promise<void> {
    if (this.#client !== undefined || this.#isDisposed || !this.#connection.isUp) return;
    const client = this.#connection.anotherClient();
    this.#client = client;
    client.onclose = () => this.#drop(client);
    try {
      await within(
        subscribeMs,
        client.subscribe(this.#channel, () => this.#onChange()),
      );
    } catch {
      this.#drop(client);
    }
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#drop();
  }

  #drop(client = this.#client): void {
    if (client === undefined || this.#client !== client) return;
    this.#client = undefined;
    client.close();
  }
}
