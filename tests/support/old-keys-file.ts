/** A file of keys as the first version made it: without limits. */
import { Database } from "bun:sqlite";
import { createHash } from "node:crypto";

/** Makes it, with the key `pk_0123456789ab_<secret>` that opens everything. */
export function oldKeysFile(path: string, secret: string): void {
  using database = new Database(path, { create: true, strict: true });
  database.run(`create table keys (
    id text primary key, name text not null unique, scopes text not null, salt blob not null,
    digest blob not null, created_at integer not null, expires_at integer, revoked_at integer
  ) strict`);
  const salt = new Uint8Array(16);
  const digest = createHash("sha256").update(salt).update(secret).digest();
  database
    .query<void, [Uint8Array, Uint8Array]>(
      "insert into keys values ('0123456789ab', 'old', 'chat embeddings retrieve', ?, ?, 1, null, null)",
    )
    .run(salt, digest);
}
