/** What knows the keys that nodes share, as a node has it, on a real Redis server. */
import { stateOf } from "../../src/core/limits/api-key.ts";
import { RedisConnection } from "../../src/gateway/redis/connection.ts";
import { KeyMirror } from "../../src/gateway/redis/key-mirror.ts";
import { RedisKeyStore } from "../../src/gateway/redis/key-store.ts";
import { patient } from "./limiting-node.ts";
import { recordingLog } from "./recording-log.ts";
import type { RedisServer } from "./redis-server.ts";
import { waitFor } from "./wait-for.ts";

export async function mirroringNode(
  { url }: RedisServer,
  { wantsKeys = false, timeoutMs = patient } = {},
) {
  const resources = new DisposableStack();
  const connection = resources.use(new RedisConnection({ url, prefix: "test", timeoutMs }));
  const { log, lines } = recordingLog();
  const keys = resources.use(new KeyMirror({ connection, wantsKeys, log }));
  await connection.open();
  await keys.read();
  const worth = (text: string): string => {
    const key = keys.find(text);
    return key === undefined ? "unknown" : stateOf(key);
  };
  return {
    connection,
    keys,
    lines,
    store: new RedisKeyStore(connection),
    worth,
    until: (text: string, state: string) =>
      waitFor(`the key to be ${state}`, () => worth(text) === state),
    [Symbol.dispose]: () => resources.dispose(),
  };
}
