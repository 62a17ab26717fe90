/** Finds the registry of a package in the user's npm and Bun settings. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import { NodeError } from "../../../core/errors.ts";
import type { Hub } from "../hub-reference.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Finds the registry of a package, with credentials. */
export type RegistryOf = (packageName: string) => Promise<Hub>;

/** Settings of .npmrc or bunfig.toml, under npm's names. The first file that sets a key wins. */
type Settings = ReadonlyMap<string, string>;

/** Order: environment, project, user, machine; bunfig.toml before .npmrc, as in Bun. */
export function registryFrom(env: Environment, projectDir: string): RegistryOf {
  let read: Promise<Settings[]> | undefined;
  return async (packageName) => {
    read ??= readSettings(env, projectDir);
    const settings = await read;
    const find = (key: string): string | undefined =>
      settings.map((each) => each.get(key)).find((value) => value !== undefined && value !== "");
    const scope = /^(@[^/]+)\//.exec(packageName)?.[1];
    const wanted = (scope && find(`${scope.toLowerCase()}:registry`)) ?? find("registry");
    return registryAt(wanted ?? (await defaultOf(env, projectDir)), find);
  };
}

type Find = (key: string) => string | undefined;

function registryAt(address: string, find: Find): Hub {
  const url = URL.parse(address);
  if (url === null) {
    throw new NodeError("invalid_request", `The npm registry '${address}' is no address.`);
  }
  const { username, password } = url;
  const own = username === "" ? undefined : base64(decoded(username), decoded(password));
  url.username = "";
  url.password = "";
  const endpoint = url.href.replace(/\/+$/, "");
  return { endpoint, ...(own === undefined ? credentials(url, find) : { basic: own }) };
}

const decoded = decodeURIComponent;

const base64 = (name: string, password: string): string => btoa(`${name}:${password}`);

/** Credentials apply to an address and everything under it: `//host/path/:_authToken`. */
function credentials({ host, pathname }: URL, find: Find): Pick<Hub, "token" | "basic"> {
  const steps = pathname.split("/").filter((step) => step !== "");
  for (let count = steps.length; count >= 0; count--) {
    const place = ["", "", host, ...steps.slice(0, count), ""].join("/");
    const under = (key: string): string | undefined =>
      find(`${place}:${key}`) ?? find(`${place.slice(0, -1)}:${key}`);
    const token = under("_authtoken");
    if (token !== undefined) return { token };
    const [name, password] = [under("username"), under("_password")];
    const basic =
      under("_auth") ??
      (name === undefined || password === undefined ? undefined : base64(name, atob(password)));
    if (basic !== undefined) return { basic };
  }
  return {};
}

/** If nothing is configured, asks npm for its default. */
async function defaultOf(env: Environment, cwd: string): Promise<string> {
  const command = ["npm", "config", "get", "registry"];
  try {
    const options = { env: { ...env }, cwd, stderr: "ignore", timeout: npmTimeoutMs } as const;
    const said = (await Bun.spawn(command, options).stdout.text()).trim();
    if (URL.canParse(said)) return said;
  } catch {
    // npm is not installed.
  }
  throw new NodeError(
    "unavailable",
    "No npm registry is configured, and npm, which knows its default, is not installed. Set NPM_CONFIG_REGISTRY to the registry's address, or write it into .npmrc (registry=…) or bunfig.toml.",
  );
}

const npmTimeoutMs = 20_000;

async function readSettings(env: Environment, projectDir: string): Promise<Settings[]> {
  const home = env.HOME || env.USERPROFILE || homedir();
  const setting = (name: string): string | undefined =>
    Object.entries(env).find(([key]) => key.toLowerCase() === name)?.[1];
  const registry = setting("npm_config_registry") ?? setting("bun_config_registry");
  const files = [
    readBunfig(join(projectDir, "bunfig.toml"), env),
    readNpmrc(join(projectDir, ".npmrc"), env),
    readBunfig(join(env.XDG_CONFIG_HOME || home, ".bunfig.toml"), env),
    readNpmrc(setting("npm_config_userconfig") || join(home, ".npmrc"), env),
    ...["/usr/local/etc/npmrc", "/usr/etc/npmrc", "/etc/npmrc"].map((path) => readNpmrc(path, env)),
  ];
  const own = new Map(registry === undefined ? [] : [["registry", registry]]);
  return [own, ...(await Promise.all(files))];
}

/** Replaces `${NAME}` by the environment variable. */
const expanded = (text: string, env: Environment): string =>
  text.replaceAll(/\$\{(\w+)\??\}/g, (_, name: string) => env[name] ?? "");

async function readNpmrc(path: string, env: Environment): Promise<Settings> {
  const settings = new Map<string, string>();
  for (const line of (await textOf(path)).split(/\r?\n/)) {
    const [, key, value = ""] = /^\s*([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined) continue;
    settings.set(key.toLowerCase(), expanded(value.replace(/^"(.*)"$/, "$1"), env));
  }
  return settings;
}

/** `registry = "…"` or `{ url, token }`, and the same for each scope. */
async function readBunfig(path: string, env: Environment): Promise<Settings> {
  const settings = new Map<string, string>();
  const install = member(parsed(await textOf(path)), "install");
  note("registry", member(install, "registry"));
  for (const [scope, registry] of Object.entries(tableOf(member(install, "scopes")))) {
    note(`@${scope.replace(/^@/, "").toLowerCase()}:registry`, registry);
  }
  return settings;

  function note(key: string, registry: unknown): void {
    const address = typeof registry === "string" ? registry : member(registry, "url");
    if (typeof address !== "string") return;
    const url = expanded(address, env);
    settings.set(key, url);
    const token = member(registry, "token");
    const place = url.replace(/^https?:/, "").replace(/\/*$/, "/");
    if (typeof token === "string") settings.set(`${place}:_authtoken`, expanded(token, env));
  }
}

const textOf = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined; // Bun says so itself
  }
}

const tableOf = (value: unknown): object =>
  typeof value === "object" && value !== null ? value : {};

const member = (table: unknown, key: string): unknown => Reflect.get(tableOf(table), key);
