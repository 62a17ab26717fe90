/** `paddock keys`: gives out API keys, lists, revokes and shares them; a running node heeds it at once. */
import { Command, Option } from "commander";
import type { Config } from "../config/schema.ts";
import { byteSize } from "../core/byte-size.ts";
import type { DocumentQuota } from "../core/documents/document-caller.ts";
import { NodeError } from "../core/errors.ts";
import { given } from "../core/given.ts";
import { type ApiKey, type KeyStore, type Scope, scopes, stateOf } from "../core/limits/api-key.ts";
import type { CallerLimits } from "../core/limits/rate-limiter.ts";
import { addConfigOptions, readConfig } from "./configure.ts";
import { addExamples } from "./examples.ts";
import { parseExpiry } from "./expiry.ts";
import { openKeyStore } from "./keys/key-store.ts";
import { share } from "./keys/share.ts";
import { printableJson } from "./printable.ts";
import type { Shell } from "./shell.ts";
import { toTable } from "./table.ts";
import { vectorStoreIds } from "./vector-store-ids.ts";

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
    .description("give out a key; it is shown once, and only a digest of it is kept")
    .argument("<name>", "who holds it")
    .addOption(
      new Option("--scope <scopes...>", "what it opens; default: everything").choices([...scopes]),
    )
    .option("--expires <when>", "a date (2027-01-31), or a time from now (12h, 30d)")
    .option("--requests-per-minute <n>", "most requests a minute; 0: no bound; default: the node's")
    .option("--tokens-per-minute <n>", "most tokens a minute, of prompts and answers")
    .option(
      "--concurrency <n>",
      "most requests in progress at once; a chat for n answers counts as n",
    )
    .option(
      "--vector-store <stores...>",
      "bind it to these vector stores, by name or id: it sees and fills no others; NAME:read: it only reads it",
    )
    .option("--max-bytes <n>", "most bytes of files that it uploads; 0: no bound")
    .option("--max-passages <n>", "most passages of the files that it adds")
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
      const bound = options.vectorStore;
      const vectorStores = bound && (await vectorStoreIds(shell, config, bound));
      const expiresAt =
        options.expires === undefined ? undefined : parseExpiry(options.expires, new Date());
      const { key, text } = await keys.create({
        name: checkedName(name),
        scopes: options.scope ?? scopes,
        ...given({ expiresAt }),
        limits: limitsOf(options),
        quota: quotaOf(options),
        ...given({ vectorStores }),
      });
      if (options.json === true) {
        shell.print(`${printableJson({ ...toJson(key), key: text }, 2)}\n`);
        return;
      }
      shell.print(`${text}\n`);
      shell.say("Keep it: it is shown this once, and cannot be shown again.\n");
    }),
  );
}

interface CreateOptions {
  scope?: Scope[];
  expires?: string;
  requestsPerMinute?: string;
  tokensPerMinute?: string;
  concurrency?: string;
  vectorStore?: string[];
  maxBytes?: string;
  maxPassages?: string;
  json?: boolean;
}

function quotaOf({ maxBytes, maxPassages }: CreateOptions): Partial<DocumentQuota> {
  return given({
    bytes: parseCount("--max-bytes", maxBytes),
    passages: parseCount("--max-passages", maxPassages),
  });
}

function limitsOf(options: CreateOptions): Partial<CallerLimits> {
  const { requestsPerMinute, tokensPerMinute, concurrency } = options;
  return given({
    requestsPerMinute: parseCount("--requests-per-minute", requestsPerMinute),
    tokensPerMinute: parseCount("--tokens-per-minute", tokensPerMinute),
    concurrency: parseCount("--concurrency", concurrency),
  });
}

function parseCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new NodeError(
    "invalid_request",
    `${option} must be a whole number, 0 for no bound; found '${text}'.`,
  );
}

function list(shell: Shell): Command {
  const command = new Command("list")
    .description("the keys, without their secrets")
    .option("--json", "as JSON");
  addExamples(command, "paddock keys list");
  return command.action(() =>
    withKeys(shell, command, async (keys) => {
      const all = await keys.list();
      if (command.opts().json === true) {
        shell.print(`${printableJson(all.map(toJson), 2)}\n`);
        return;
      }
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
        throw new NodeError(
          "invalid_request",
          `There is no key '${idOrName}'. 'paddock keys list' shows those there are.`,
        );
      }
      shell.print(`Revoked the key '${key.name}' (${key.id}).\n`);
    }),
  );
}

function checkedName(name: string): string {
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u.test(name)) return name;
  throw new NodeError(
    "invalid_request",
    `'${name}' cannot be a key's name: it must be 1 to 64 letters, digits, spaces or any of . _ @ -.`,
  );
}

const day = (date: Date | undefined): string =>
  date === undefined ? "never" : date.toISOString().slice(0, 16).replace("T", " ");

/** Those of its own, in the words of the options: `60 requests, 2 at once`. */
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
