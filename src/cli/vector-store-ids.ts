/** Vector stores that a command names, by name or id, as their ids; `:read` stays behind one that is only to be read. */
import { join } from "node:path";
import type { Config } from "../config/schema.ts";
import { theNode } from "../core/documents/document-caller.ts";
import { StoreAccess } from "../core/documents/store-access.ts";
import { NodeError } from "../core/errors.ts";
import { dataDirOf } from "../node/data-dir.ts";
import { collectionStore } from "../node/documents/open-collection.ts";
import { documentsFile, SqliteDocuments } from "../store/documents/sqlite-documents.ts";
import { createCommandLog } from "./log.ts";
import type { Shell } from "./shell.ts";

/** Refuses a name that no vector store has: one that comes later might be another's. */
export async function vectorStoreIds(
  shell: Shell,
  config: Config,
  names: readonly string[],
): Promise<string[]> {
  const log = createCommandLog(config, shell.isTerminal);
  await using registry = new SqliteDocuments(join(dataDirOf(config, shell.cwd), documentsFile));
  const access = new StoreAccess({
    registry,
    store: collectionStore({ config, baseDir: shell.cwd, log }),
    ownCollection: config.vectorstore.collection_name,
    now: () => new Date(),
    expiryTime: () => new Date(),
    log,
  });
  const ids: string[] = [];
  for (const name of names) {
    try {
      const [, called = name, rights = ""] = /^(.*?)(:read)?$/.exec(name) ?? [];
      ids.push(`${(await access.find(theNode, called, "--vector-store")).id}${rights}`);
    } catch (error) {
      if (!(error instanceof NodeError && error.kind === "no_such_object")) throw error;
      const known = (await registry.stores.allStores()).map((store) => store.name || store.id);
      throw new NodeError(
        "invalid_request",
        `There is no vector store '${name}'. There are: ${known.join(", ")}. 'paddock ingest' makes one under a name that --collection gives.`,
      );
    }
  }
  return [...new Set(ids)];
}
