/** `paddock keys`: creates, lists, revokes and shares API keys. Running nodes apply it at once. */
import { join } from "node:path";
import { Command, Option } from "commander";
import type { Config } from "../config/schema.ts";
import { byteSize } from "../core/byte-size.ts";
import { theNode } from "../core/documents/document-caller.ts";
import { StoreAccess } from "../core/documents/store-access.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import {
  type ApiKey,
  type KeyStore,
  type Scope,
  scopes,
  stateOf,
  usualScopes,
} from "../core/limits/api-key.ts";
import { collectionStore } from "../node/documents/node-collection.ts";
import { dataDirOf, toSharedServer } from "../node/node-settings.ts";
import { documentsFile, sqliteDocuments } from "../store/documents/sqlite-documents.ts";
import { addConfigOptions, addExamples, readConfig } from "./command-options.ts";
import { openKeyStore, openOwnKeys, openSharedKeys } from "./key-stores.ts";
import { createCommandLog } from "./log.ts";
import { printedJson, toTable } from "./printing.ts";
import { CommandError, type Shell } from "./shell.ts";

export function keysCommand(shell: Shell): Command {
  const command = new Command("keys").description("give out API keys, list, revoke and share them");
  for (const make of [create, list, revoke, share])
    command.addCommand(addConfigOptions(make(shell)));
  return addExamples(command, "paddock keys create ada", "paddock keys list --json");
}

async function withKeys(
  shell: Shell,
  command: Command,
  body: (keys: KeyStore, config: Config) => Promise<void>,
): Promise<void> {
  const config = await readConfig(shell, command);
  using opened = await openKeyStore(config, shell.cwd);
  await body(opened.keys, config);
}

function create(shell: Shell): Command {
  const command = new Command("create")
    .description("give out a key; it is shown once, and only a digest of it is stored")
    .argument("<name>", "who holds it")
    .addOption(
      new Option("--scope <scopes...>", "what it opens; default: all but models").choices([
        ...scopes,
      ]),
    )
    .option("--expires <when>", "a date (2027-01-31), or a time from now (12h, 30d)")
    .addOption(
      count("--requests-per-minute", "most requests a minute; 0: no bound; default: the node's"),
    )
    .addOption(count("--tokens-per-minute", "most tokens a minute, of prompts and answers"))
    .addOption(
      count("--concurrency", "most requests in progress at once; a chat for n answers counts as n"),
    )
    .option(
      "--vector-store <stores...>",
      "bind it to these vector stores, by name or id: it sees and fills no others; NAME:read: it only reads it",
    )
    .addOption(count("--max-bytes", "most bytes of files that it uploads; 0: no bound"))
    .addOption(count("--max-passages", "most passages of the files that it adds"))
    .option("--json", "as JSON");
  addExamples(
    command,
    "paddock keys create ada --scope chat --expires 30d",
    "paddock keys create batch --requests-per-minute 60 --concurrency 2",
    "paddock keys create reader --scope retrieve --vector-store handbook:read",
  );
  return command.action((name: string) =>
    withKeys(shell, command, async (keys, config) => {
      const options = command.opts<CreateOptions>();
      const { expires, vectorStore: bound } = options;
      const { requestsPerMinute, tokensPerMinute, concurrency, maxBytes, maxPassages } = options;
      const vectorStores = bound && (await vectorStoreIds(shell, config, bound));
      const expiresAt = expires === undefined ? undefined : parseExpiry(expires, new Date());
      const { key, text } = await keys.create({
        name: checkedName(name),
        scopes: options.scope ?? usualScopes,
        ...given({ expiresAt, vectorStores }),
        limits: given({ requestsPerMinute, tokensPerMinute, concurrency }),
        quota: given({ bytes: maxBytes, passages: maxPassages }),
      });
      if (printedJson(shell, command, { ...toJson(key), key: text })) return;
      shell.print(`${text}\n`);
      shell.say("Keep it: it is shown this once, and cannot be shown again.\n");
    }),
  );
}

interface CreateOptions {
  scope?: Scope[];
  expires?: string;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  concurrency?: number;
  vectorStore?: string[];
  maxBytes?: number;
  maxPassages?: number;
}

const count = (option: string, help: string): Option =>
  new Option(`${option} <n>`, help).argParser((text: string) => {
    if (/^\d{1,12}$/.test(text)) return Number(text);
    throw new CommandError(`${option} must be a whole number, 0 for no bound; found '${text}'.`);
  });

function list(shell: Shell): Command {
  const command = new Command("list")
    .description("the keys, without their secrets")
    .option("--json", "as JSON");
  addExamples(command, "paddock keys list");
  return command.action(() =>
    withKeys(shell, command, async (keys) => {
      const all = await keys.list();
      if (printedJson(shell, command, all.map(toJson))) return;
      if (all.length === 0) shell.say("No key was given out; 'paddock keys create NAME' does.\n");
      else shell.print(toTable(all.map(toRow)));
    }),
  );
}

function revoke(shell: Shell): Command {
  const command = new Command("revoke")
    .description("make a key worthless, for good and at once")
    .argument("<key>", "its name or id");
  addExamples(command, "paddock keys revoke ada");
  return command.action((idOrName: string) =>
    withKeys(shell, command, async (keys) => {
      const key = await keys.revoke(idOrName);
      if (key === undefined) {
        throw new CommandError(
          `There is no key '${idOrName}'. 'paddock keys list' shows those there are.`,
        );
      }
      shell.print(`Revoked the key '${key.name}' (${key.id}).\n`);
    }),
  );
}

function checkedName(name: string): string {
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u.test(name)) return name;
  throw new CommandError(
    `'${name}' cannot be a key's name: it must be 1 to 64 letters, digits, spaces or any of . _ @ -.`,
  );
}

const day = (date: Date | undefined): string =>
  date === undefined ? "never" : date.toISOString().slice(0, 16).replace("T", " ");

/** The key's own limits: `60 requests/min, 2 at once`. */
function limitsText({ limits, quota }: ApiKey): string {
  const { requestsPerMinute, tokensPerMinute, concurrency } = limits;
  const parts = [
    requestsPerMinute === undefined ? [] : [`${requestsPerMinute || "any"} requests/min`],
    tokensPerMinute === undefined ? [] : [`${tokensPerMinute || "any"} tokens/min`],
    concurrency === undefined ? [] : [`${concurrency || "any"} at once`],
    quota.bytes === undefined ? [] : [quota.bytes === 0 ? "any bytes" : byteSize(quota.bytes)],
    quota.passages === undefined ? [] : [`${quota.passages || "any"} passages`],
  ].flat();
  return parts.length === 0 ? "the node's" : parts.join(", ");
}

const toRow = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  scopes: key.scopes.join(","),
  "vector stores": key.vectorStores?.join(",") ?? "all",
  created: day(key.createdAt),
  expires: day(key.expiresAt),
  limits: limitsText(key),
  state: stateOf(key),
});

const toJson = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  scopes: key.scopes,
  created_at: key.createdAt.toISOString(),
  expires_at: key.expiresAt?.toISOString() ?? null,
  requests_per_minute: key.limits.requestsPerMinute ?? null,
  tokens_per_minute: key.limits.tokensPerMinute ?? null,
  concurrency: key.limits.concurrency ?? null,
  vector_stores: key.vectorStores ?? null,
  max_bytes: key.quota.bytes ?? null,
  max_passages: key.quota.passages ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
  state: stateOf(key),
});

/** Adds the keys of this node's file to those that all nodes share. */
function share(shell: Shell): Command {
  const command = new Command("share").description(
    "have the keys of the data dir count for all nodes of [shared]; can be repeated",
  );
  addExamples(command, "paddock keys share");
  return command.action(async () => {
    const config = await readConfig(shell, command);
    const server = toSharedServer(config);
    if (server === undefined) {
      throw new CommandError(
        "There is nobody to share keys with: set [shared] redis (or PADDOCK_SHARED_REDIS) first.",
      );
    }
    using own = openOwnKeys(config, shell.cwd);
    using shared = await openSharedKeys(server);
    const records = own.keys.records();
    const { added, taken } = await shared.keys.add(records);
    const known = records.length - added - taken.length;
    shell.print(`Shared ${added} of ${records.length} keys; ${known} were shared before.\n`);
    if (taken.length === 0) return;
    throw new CommandError(
      `Other keys have these names there: '${taken.join("', '")}'. Give those holders new keys ('paddock keys create'): a name belongs to one key.`,
    );
  });
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `2027-01-31`, `2027-01-31T12:00`, `90m`, `12h`, `30d`; always in the future. */
export function parseExpiry(text: string, now: Date): Date {
  const [, amount, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const date =
    amount === undefined
      ? new Date(/^\d{4}-\d{2}-\d{2}/.test(text) ? text : "")
      : new Date(now.getTime() + Number(amount) * (units[unit] ?? 0));
  if (date > now) return date;
  const why = Number.isNaN(date.getTime()) ? "is no time" : "is past";
  throw new CommandError(
    `'${text}' ${why}. Give a date to come, such as ${new Date(now.getTime() + 31_536_000_000).toISOString().slice(0, 10)}, or a time from now, such as 12h or 30d.`,
  );
}

/** Ids of stores given by name or id, `:read` included. Unknown names could be another's later. */
async function vectorStoreIds(
  shell: Shell,
  config: Config,
  names: readonly string[],
): Promise<string[]> {
  const log = createCommandLog(config, shell.isTerminal);
  await using registry = sqliteDocuments(join(dataDirOf(config, shell.cwd), documentsFile), log);
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
      const known = (await registry.outlines()).map((store) => store.name || store.id);
      throw new CommandError(
        `There is no vector store '${name}'. There are: ${known.join(", ")}. 'paddock ingest' makes one under a name that --collection gives.`,
      );
    }
  }
  return [...new Set(ids)];
}
