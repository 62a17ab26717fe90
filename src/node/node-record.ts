/**
 * What a running node writes into its data dir about itself, so that a command finds it: who it is,
 * and what came of the last time that its configuration was read again.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../core/errors.ts";
import { writeAtomically } from "../models/atomic-file.ts";

/** What came of reading the configuration again. */
export interface ReloadOutcome {
  /** Names of the keys that are in force now. */
  changed: string[];
  /** Names of the keys that a restart has to take over. */
  needsRestart: string[];
  /** Why nothing was changed. */
  error?: string;
}

export interface NodeRecord {
  id: string;
  /** Of its process. */
  pid: number;
  /** The machine, or the container, that the pid is one of. */
  host: string;
  startedAt: string;
  /** Where it listens. */
  address: string;
  /** The configuration file that it reads; null: none. */
  config: string | null;
  /** The last reload; `requests`: who asked for it. */
  reload?: ReloadOutcome & { requests: string[]; at: string };
}

/** In the data dir. Several nodes may share one. */
const folderOf = (dataDir: string): string => join(dataDir, "nodes");
const ending = ".json";

export const recordPath = (dataDir: string, id: string): string =>
  join(folderOf(dataDir), `${id}${ending}`);

/** A file that asks the node to read its configuration again. */
export const requestPath = (dataDir: string, id: string, request: string): string =>
  join(folderOf(dataDir), `${id}.${request}.reload`);

/** The names of the requests that wait for the node. */
export async function listRequests(dataDir: string, id: string): Promise<string[]> {
  return (await namesIn(dataDir)).flatMap((name) => {
    const [of, request, kind, ...more] = name.split(".");
    return of === id && request !== undefined && kind === "reload" && more.length === 0
      ? [request]
      : [];
  });
}

export async function writeText(path: string, text: string): Promise<void> {
  await writeAtomically(path, (file) => file.writeFile(text));
}

/** Undefined where there is none, or what is there is not one. */
export async function readRecord(dataDir: string, id: string): Promise<NodeRecord | undefined> {
  const text = await unlessMissing(readFile(recordPath(dataDir, id), "utf8"));
  const value: unknown = text === undefined ? undefined : parsed(text);
  return isRecord(value) ? value : undefined;
}

/** Those of all nodes that said they run here; one that was killed did not say otherwise. */
export async function listRecords(dataDir: string): Promise<NodeRecord[]> {
  const names = await namesIn(dataDir);
  const ids = names
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length));
  const records = await Promise.all(ids.map((id) => readRecord(dataDir, id)));
  return records.filter((record) => record !== undefined);
}

export async function removeRecord(dataDir: string, id: string): Promise<void> {
  const requests = await listRequests(dataDir, id);
  const paths = requests.map((request) => requestPath(dataDir, id, request));
  for (const path of [recordPath(dataDir, id), ...paths]) await rm(path, { force: true });
}

const namesIn = async (dataDir: string): Promise<string[]> =>
  (await unlessMissing(readdir(folderOf(dataDir)))) ?? [];

async function unlessMissing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is NodeRecord {
  if (typeof value !== "object" || value === null) return false;
  const fields: Partial<Record<keyof NodeRecord, unknown>> = value;
  const { id, pid, host, startedAt, address, config, reload } = fields;
  return (
    [id, host, startedAt, address].every((text) => typeof text === "string") &&
    Number.isSafeInteger(pid) &&
    (config === null || typeof config === "string") &&
    (reload === undefined || isReload(reload))
  );
}

function isReload(value: unknown): value is NodeRecord["reload"] {
  if (typeof value !== "object" || value === null) return false;
  const fields: Partial<Record<string, unknown>> = { ...value };
  const { changed, needsRestart, requests, error } = fields;
  return (
    [changed, needsRestart, requests].every(Array.isArray) &&
    (error === undefined || typeof error === "string")
  );
}
