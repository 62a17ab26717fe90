/** Changes of the shared keys, each as one step of the server. */
import type { RedisConnection } from "./connection.ts";
import { RedisScript } from "./script.ts";

const addition = new RedisScript(`
local keys, names, revoked, version = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel, restored = ARGV[1], ARGV[2] == 'restored'
local added, changed, taken = 0, false, {}
for at = 3, #ARGV, 4 do
  local id, name, stored, revokedAt = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local holder = redis.call('HGET', names, name)
  if holder and holder ~= id and not restored then
    taken[#taken + 1] = name
  else
    redis.call('HSETNX', names, name, id)
    if redis.call('HSETNX', keys, id, stored) == 1 then
      added = added + 1
      changed = true
    end
    if revokedAt ~= '' and redis.call('HSETNX', revoked, id, revokedAt) == 1 then changed = true end
  end
end
if changed then redis.call('PUBLISH', channel, redis.call('INCR', version)) end
return { added, taken }
`);

const revocation = new RedisScript(`
local keys, names, revoked, version = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local channel, wanted, at = ARGV[1], ARGV[2], ARGV[3]
local id = wanted
if redis.call('HEXISTS', keys, id) == 0 then id = redis.call('HGET', names, wanted) end
if not id then return {} end
if redis.call('HSETNX', revoked, id, at) == 1 then
  redis.call('PUBLISH', channel, redis.call('INCR', version))
end
return { id, redis.call('HGET', keys, id), redis.call('HGET', revoked, id) }
`);

export interface KeyToAdd {
  id: string;
  name: string;
  stored: string;
  revokedAt: number | null;
}

export async function addKeys(
  connection: RedisConnection,
  keys: readonly KeyToAdd[],
  { restored }: { restored: boolean },
): Promise<{ added: number; taken: string[] }> {
  const reply = await addition.run(connection, keysOf(connection), [
    connection.name("keys-changed"),
    restored ? "restored" : "new",
    ...keys.flatMap(({ id, name, stored, revokedAt }) => [
      id,
      name,
      stored,
      revokedAt === null ? "" : String(revokedAt),
    ]),
  ]);
  const [added, taken] = Array.isArray(reply) ? reply : [];
  return { added: Number(added), taken: Array.isArray(taken) ? taken.map(String) : [] };
}

/** The key's id, its record and since when it is revoked; nothing where there is no such key. */
export async function revokeKey(
  connection: RedisConnection,
  idOrName: string,
  at: number,
): Promise<string[]> {
  const args = [connection.name("keys-changed"), idOrName, String(at)];
  const reply = await revocation.run(connection, keysOf(connection), args);
  return Array.isArray(reply) ? reply.map(String) : [];
}

const keysOf = (connection: RedisConnection): string[] =>
  ["keys", "key-names", "revoked-keys", "keys-version"].map((name) => connection.name(name));
