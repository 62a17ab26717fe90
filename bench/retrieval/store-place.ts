/** Where the store at size is: embedded in a folder, or a Qdrant server of the measurement's own. */
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CollectionStore } from "../../src/core/ports/passage-repository.ts";
import { QdrantCollectionStore } from "../../src/store/qdrant/qdrant-collections.ts";
import { SqliteCollectionStore } from "../../src/store/sqlite/sqlite-collections.ts";
import { startQdrant } from "../../tests/support/qdrant-server.ts";
import { silentLog } from "../../tests/support/silence.ts";

export const collection = "bench";

export interface StorePlace {
  store: CollectionStore;
  /** Passages that the index still lacks. */
  lacking(): Promise<number>;
  /** Bytes on the disk, by kind. */
  sizes(): Promise<Map<string, number>>;
  /** Bytes of the process that has the collection. */
  memory(): number;
  /** Bytes of removed passages that were not given back yet; undefined if that is not known. */
  free(): number | undefined;
}

export function embeddedPlace(folder: string): StorePlace {
  const numberOf = (sql: string): number => {
    using database = new Database(join(folder, `${collection}.sqlite`), { readonly: true });
    return Number(Object.values(database.query<object, []>(sql).get() ?? {})[0] ?? 0);
  };
  return {
    store: new SqliteCollectionStore(folder, silentLog),
    /** Vectors that get a graph and have none yet; a last, smaller segment gets none. */
    lacking: async () =>
      numberOf(`select
        (select coalesce(sum(count), 0) from segments where graph is null and count >= 32768) +
        (select count(*) from (
          select 1 from passages where key > (select coalesce(max(last_key), 0) from segments)
        )) / 16384 * 16384`),
    async sizes() {
      const sizes = new Map<string, number>();
      for (const name of await readdir(folder)) {
        const kind = name.split(".").at(-1) ?? "";
        const { size } = await stat(join(folder, name));
        if (name.startsWith(`${collection}.`)) sizes.set(kind, (sizes.get(kind) ?? 0) + size);
      }
      return sizes;
    },
    memory: () => process.memoryUsage.rss(),
    free: () => numberOf("pragma freelist_count") * 4096,
  };
}

/** Linux only, as the package that holds the server. */
export async function qdrantPlace(): Promise<
  StorePlace & AsyncDisposable & { restart(): Promise<void> }
> {
  const server = await startQdrant();
  return {
    store: new QdrantCollectionStore({ url: server.url, timeoutMs: 60_000 }),
    async lacking() {
      const response = await fetch(`${server.url}/collections/${collection}`);
      const { result } = Object(await response.json());
      return result.status === "green" ? 0 : result.points_count;
    },
    async sizes() {
      const storage = join(await readlink(`/proc/${server.pid}/cwd`), "storage");
      const { stdout } = Bun.spawnSync(["du", "-sk", storage]);
      return new Map([["server's storage", Number.parseInt(stdout.toString(), 10) * 1024]]);
    },
    memory() {
      const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    },
    free: () => undefined,
    restart: () => server.restart(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
