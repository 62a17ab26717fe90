/** Rows of uploaded files. */
import type { SQLQueryBindings } from "bun:sqlite";
import type { FileUsage } from "../../core/documents/quota.ts";
import type { FileRecord } from "../../core/documents/records.ts";
import { given } from "../../core/given.ts";
import type { Page, PageRequest } from "../../core/page.ts";
import type { FileRegistry, Visibility } from "../../core/ports/document-registry.ts";
import type { OwnFile } from "../database.ts";
import { pageOf } from "./sql-conditions.ts";
import type { Rows } from "./sqlite-documents.ts";

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
  readonly #file: OwnFile;

  constructor(file: OwnFile) {
    this.#file = file;
  }

  addFile(file: FileRecord): void {
    const { id, filename, bytes, sha256, type, purpose, owner, createdAt, expiresAt } = file;
    this.#file.write((database) => {
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
      // A file that was deleted, but recovered before its bytes were gone, is not deleted after all.
      database.query("delete from removals where collection = '' and document = ?").run(id);
    });
  }

  find(ids: readonly string[], visible?: Visibility): FileRecord[] {
    const { where, values } = visibleTo(visible);
    const conditions = ["id in (select value from json_each(?))", ...where];
    const rows = this.#file.all<Row>(
      `select * from files where ${conditions.join(" and ")}`,
      ...[JSON.stringify(ids), ...values],
    );
    const found = new Map(rows.map((row) => [row.id, toFile(row)]));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  files(
    page: PageRequest,
    { purpose, visible }: { purpose?: string; visible?: Visibility },
  ): Page<FileRecord> {
    const { where, values } = visibleTo(visible);
    const listing = {
      from: "files",
      id: "id",
      where: purpose === undefined ? where : ["purpose = ?", ...where],
      values: purpose === undefined ? values : [purpose, ...values],
    };
    return pageOf(this.#file, listing, page, toFile);
  }

  removeFile(id: string): void {
    this.#file.write((database) => {
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
    const sql = "select * from files where expires_at <= ? limit 100";
    return this.#file.all<Row>(sql, now.getTime()).map(toFile);
  }

  known(ids: readonly string[]): ReadonlySet<string> | undefined {
    return this.#file.read<ReadonlySet<string> | undefined>(
      () => new Set(this.find(ids).map(({ id }) => id)),
      undefined,
    );
  }

  usageOf(least: number, owner?: string): FileUsage {
    const usage = this.#file.get<FileUsage>(
      `select coalesce(sum(max(bytes, ?)), 0) as bytes, count(*) as files from files
       ${owner === undefined ? "" : "where owner = ?"}`,
      ...[least, ...(owner === undefined ? [] : [owner])],
    );
    return usage ?? { bytes: 0, files: 0 };
  }
}

/** Conditions for a caller's own files and those in its stores; none if it may see all. */
function visibleTo(visible: Visibility | undefined): { where: string[]; values: string[] } {
  if (visible === undefined) return { where: [], values: [] };
  const { owner, stores } = visible;
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
