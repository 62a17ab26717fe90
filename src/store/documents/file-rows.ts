/** Uploaded files, as rows. */
import type { SQLQueryBindings } from "bun:sqlite";
import type { FileUsage } from "../../core/documents/quota.ts";
import type { FileRecord } from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import type { FileRegistry, Visibility } from "../../core/ports/document-registry.ts";
import type { RegistryFile, Rows } from "./registry-file.ts";
import { pageOf } from "./sql-conditions.ts";

interface Row {
  id: string;
  filename: string;
  bytes: number;
  sha256: string;
  type: string;
  purpose: string;
  owner: string | null;
  created_at: number;
  expires_at: number | null;
}

export class FileRows implements Rows<FileRegistry> {
  readonly #registry: RegistryFile;

  constructor(registry: RegistryFile) {
    this.#registry = registry;
  }

  addFile(file: FileRecord): void {
    const { id, filename, bytes, sha256, type, purpose, owner, createdAt, expiresAt } = file;
    this.#registry.write((database) => {
      database
        .query<void, SQLQueryBindings[]>(
          `insert into files
             (id, filename, bytes, sha256, type, purpose, owner, created_at, expires_at)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          ...[id, filename, bytes, sha256, type, purpose, owner ?? null],
          createdAt.getTime(),
          expiresAt?.getTime() ?? null,
        );
      // One that was deleted, and recovered before its bytes were gone, is not deleted after all.
      database.query("delete from removals where collection = '' and document = ?").run(id);
    });
  }

  find(ids: readonly string[], visible?: Visibility): FileRecord[] {
    return this.#registry.read((database) => {
      const seen = visible === undefined ? undefined : visibleTo(visible);
      const isAmong = "id in (select value from json_each(?))";
      const rows = database
        .query<Row, string[]>(
          `select * from files where ${[isAmong, ...(seen?.where ?? [])].join(" and ")}`,
        )
        .all(JSON.stringify(ids), ...(seen?.values ?? []));
      const found = new Map(rows.map((row) => [row.id, toFile(row)]));
      return ids.flatMap((id) => found.get(id) ?? []);
    }, []);
  }

  files(
    page: PageRequest,
    { purpose, visible }: { purpose?: string; visible?: Visibility },
  ): Page<FileRecord> {
    return this.#registry.read(
      (database) => {
        const seen = visible === undefined ? undefined : visibleTo(visible);
        const { items, hasMore } = pageOf<Row>(
          database,
          {
            from: "files",
            id: "id",
            where: [...(purpose === undefined ? [] : ["purpose = ?"]), ...(seen?.where ?? [])],
            values: [...(purpose === undefined ? [] : [purpose]), ...(seen?.values ?? [])],
          },
          page,
        );
        return { items: items.map(toFile), hasMore };
      },
      { items: [], hasMore: false },
    );
  }

  removeFile(id: string): void {
    this.#registry.write((database) => {
      const remove = (query: string): unknown => database.query<void, [string]>(query).run(id);
      remove(`insert or ignore into removals (collection, document)
              select stores.collection, document from store_files
              join stores on stores.id = store where file = ?`);
      remove("delete from store_files where file = ?");
      remove("delete from batch_files where file = ?");
      remove(`insert or ignore into removals (collection, document)
              select '', id from files where id = ?`);
      remove("delete from files where id = ?");
    });
  }

  filesExpiredAt(now: Date): FileRecord[] {
    return this.#registry.read(
      (database) =>
        database
          .query<Row, [number]>("select * from files where expires_at <= ? limit 100")
          .all(now.getTime())
          .map(toFile),
      [],
    );
  }

  known(ids: readonly string[]): ReadonlySet<string> | undefined {
    return this.#registry.read<ReadonlySet<string> | undefined>(
      (database) =>
        new Set(
          database
            .query<{ id: string }, [string]>(
              "select id from files where id in (select value from json_each(?))",
            )
            .all(JSON.stringify(ids))
            .map(({ id }) => id),
        ),
      undefined,
    );
  }

  usageOf(least: number, owner?: string): FileUsage {
    const none = { bytes: 0, files: 0 };
    return this.#registry.read((database) => {
      const usage = database.query<FileUsage, [number, ...string[]]>(
        `select coalesce(sum(max(bytes, ?)), 0) as bytes, count(*) as files from files
         ${owner === undefined ? "" : "where owner = ?"}`,
      );
      return usage.get(least, ...(owner === undefined ? [] : [owner])) ?? none;
    }, none);
  }
}

/** A caller's own, and what is in its stores. */
function visibleTo({ owner, stores }: Visibility): { where: string[]; values: string[] } {
  const inStores =
    "id in (select file from store_files where store in (select value from json_each(?)))";
  return {
    where: [owner === undefined ? inStores : `(owner = ? or ${inStores})`],
    values: [...(owner === undefined ? [] : [owner]), JSON.stringify(stores)],
  };
}

function toFile(row: Row): FileRecord {
  const { id, filename, bytes, sha256, type, purpose } = row;
  return {
    ...{ id, filename, bytes, sha256, type, purpose },
    createdAt: new Date(row.created_at),
    ...given({
      owner: row.owner ?? undefined,
      expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
    }),
  };
}
