/** What a node that shares its keys and limits keeps to itself all the same, and what to do about it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/schema.ts";
import { isLoopback } from "../core/loopback.ts";
import { keysFile, SqliteKeys } from "../store/keys/sqlite-keys.ts";
import { toCollection } from "./node-settings.ts";

export interface SharingNotice {
  message: string;
  remedy: string;
}

/** Those that the node knows to be shared. */
interface KnownKeys {
  /** Whether they could be read. */
  isKnown: boolean;
  size: number;
  has(id: string): boolean;
}

export function sharingNotices(
  config: Config,
  dataDir: string,
  shared: KnownKeys,
): SharingNotice[] {
  return [
    ...embeddedCollection(config),
    ...ownKeys(join(dataDir, keysFile), shared),
    ...noKeys(config, shared),
  ];
}

/** Whether nobody may come in without a key, also while there is none: others reach the node. */
export const alwaysWantsKeys = ({ host, auth }: Config): boolean =>
  !(isLoopback(host) || auth.open);

/** The first key may be given out while the nodes run, which let nobody in until then. */
function noKeys(config: Config, { isKnown, size }: KnownKeys): SharingNotice[] {
  const hasOwn = config.auth.api_keys.length > 0;
  if (!isKnown || size > 0 || hasOwn || !alwaysWantsKeys(config)) return [];
  return [
    {
      message: "no key was given out yet, and nobody comes in without one",
      remedy: "'paddock keys create NAME' gives one out.",
    },
  ];
}

/** Two nodes with one collection each would answer differently. */
export function embeddedCollection(config: Config): SharingNotice[] {
  const { url, name, embeddingModel } = toCollection(config);
  if (url !== "embedded" || embeddingModel === undefined) return [];
  return [
    {
      message: `the collection '${name}' is embedded: it is this node's alone, and other nodes find none of its passages`,
      remedy:
        "Set vectorstore.url to a Qdrant server for all nodes; 'paddock collections copy --to' brings the passages there.",
    },
  ];
}

function ownKeys(path: string, shared: KnownKeys): SharingNotice[] {
  if (!shared.isKnown || !existsSync(path)) return [];
  using keys = new SqliteKeys(path);
  const own = keys.records().filter(({ id }) => !shared.has(id)).length;
  if (own === 0) return [];
  return [
    {
      message: `${own === 1 ? "a key" : `${own} keys`} of ${keysFile} open nothing: with [shared] the keys in Redis count`,
      remedy: "'paddock keys share' has them count for all nodes.",
    },
  ];
}
