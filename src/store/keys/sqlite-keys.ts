/**
 * API keys in a SQLite file of the data dir. Only a salted digest of a key is stored, so that nobody
 * can authenticate with what the file holds. Every process that has it open sees a change at once.
 */
import {
  type ApiKey,
  type KeyRing,
  type KeyStore,
  type NewKey,
  nameIsTaken,
} from "../../core/limits/api-key.ts";
import { type KeyRecord, matchKey, newKeyRecord, toKey } from "./key-record.ts";
import { KeysFile } from "./keys-file.ts";

/** Its name in the data dir. */
export const keysFile = "keys.sqlite";

/** A row as named parameters. */
type Bound<Fields> = { [Field in keyof Fields]: Fields[Field] };

const insert = `
  insert into keys (id, name, scopes, salt, digest, created_at, expires_at,
    requests_per_minute, tokens_per_minute, concurrency, document_bytes, document_passages,
    vector_stores)
  values ($id, $name, $scopes, $salt, $digest, $created_at, $expires_at,
    $requests_per_minute, $tokens_per_minute, $concurrency, $document_bytes, $document_passages,
    $vector_stores)`;

export class SqliteKeys implements KeyRing, KeyStore, Disposable {
  readonly #file: KeysFile;
  #hadKeys = false;

  /** No file is made until a key is. */
  constructor(path: string) {
    this.#file = new KeysFile(path);
  }

  /** Stays true once there was a key: rows are never removed, and a missing file must not open the node. */
  hasKeys(): boolean {
    this.#hadKeys ||=
      this.#file.read((database) => database.query("select 1 from keys limit 1").get()) != null;
    return this.#hadKeys;
  }

  find(text: string): ApiKey | undefined {
    return matchKey(text, (id) =>
      this.#file.read((database) =>
        database.query<KeyRecord, [string]>("select * from keys where id = ?").get(id),
      ),
    );
  }

  /** By the part of it that is no secret. */
  byId(id: string): ApiKey | undefined {
    const row = this.#file.read((database) =>
      database.query<KeyRecord, [string]>("select * from keys where id = ?").get(id),
    );
    return row == null ? undefined : toKey(row);
  }

  list(): ApiKey[] {
    return this.records().map(toKey);
  }

  /** The rows themselves, to be kept elsewhere. */
  records(): KeyRecord[] {
    const rows = this.#file.read((database) =>
      database.query<KeyRecord, []>("select * from keys order by created_at").all(),
    );
    return rows ?? [];
  }

  /** The returned text of the key is stored nowhere. */
  create(wanted: NewKey): { key: ApiKey; text: string } {
    const { record, text } = newKeyRecord(wanted);
    const { name } = record;
    this.#file.write((database) => {
      if (database.query("select 1 from keys where name = ?").get(name) != null) {
        throw nameIsTaken(name);
      }
      database.query<void, [Bound<KeyRecord>]>(insert).run({ ...record });
    });
    return { key: toKey(record), text };
  }

  /** By id or name; undefined where there is no such key. A revoked key keeps its date. */
  revoke(idOrName: string): ApiKey | undefined {
    const row = this.#file.read((database) =>
      database
        .query<KeyRecord, [string, string]>("select * from keys where id = ? or name = ?")
        .get(idOrName, idOrName),
    );
    if (row == null) return undefined;
    const revokedAt = row.revoked_at ?? Date.now();
    this.#file.write((database) =>
      database
        .query<void, [number, string]>("update keys set revoked_at = ? where id = ?")
        .run(revokedAt, row.id),
    );
    return toKey({ ...row, revoked_at: revokedAt });
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
