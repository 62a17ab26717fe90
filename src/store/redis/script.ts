/** A script that the server runs as one step. Its text is sent only where the server does not have it. */
import { createHash } from "node:crypto";
import type { RedisConnection } from "./connection.ts";
import { isUnknownScript } from "./reasons.ts";

export class RedisScript {
  readonly #text: string;
  readonly #digest: string;

  constructor(text: string) {
    this.#text = text;
    this.#digest = createHash("sha1").update(text).digest("hex");
  }

  async run(
    connection: RedisConnection,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await connection.call("EVALSHA", this.#digest, ...rest);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await connection.call("EVAL", this.#text, ...rest);
    }
  }
}
