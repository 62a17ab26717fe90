/** The package registry that npm and Bun are configured with, and the credentials that it wants. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface RegistryPlace {
  env: Readonly<Record<string, string | undefined>>;
  /** The folder that the program was started in. */
  cwd: string;
}

export interface Registry {
  /** Ends with a slash. */
  url: string;
  /** What a request to an address carries; nothing where it is not the registry's own. */
  headersFor(address: string): Record<string, string>;
}

const publicRegistry = "https://registry.npmjs.org/";

/** For packages of a scope such as `@node-llama-cpp`, or of none. */
export function readRegistry({ env, cwd }: RegistryPlace, scope?: string): Registry {
  const home = env.HOME ?? env.USERPROFILE ?? cwd;
  const settings = new Map<string, string>();
  // What comes later wins.
  for (const path of [
    "/etc/npmrc",
    "/usr/etc/npmrc",
    "/usr/local/etc/npmrc",
    env.NPM_CONFIG_USERCONFIG ?? env.npm_config_userconfig ?? join(home, ".npmrc"),
    join(cwd, ".npmrc"),
  ]) {
    for (const [name, value] of parseNpmrc(read(path), env)) settings.set(name, value);
  }
  const bun = [join(home, ".bunfig.toml"), join(cwd, "bunfig.toml")].map((path) =>
    parseBunfig(read(path), scope),
  );
  const given =
    (scope && settings.get(`${scope}:registry`)) ??
    bun.findLast(({ scoped }) => scoped !== undefined)?.scoped ??
    env.BUN_CONFIG_REGISTRY ??
    env.npm_config_registry ??
    env.NPM_CONFIG_REGISTRY ??
    settings.get("registry") ??
    bun.findLast(({ plain }) => plain !== undefined)?.plain ??
    publicRegistry;
  const address = new URL(given.endsWith("/") ? given : `${given}/`);
  const own = basicOf(address);
  address.username = "";
  address.password = "";
  const url = address.href;
  return {
    url,
    headersFor: (asked) => {
      if (new URL(asked).host !== address.host) return {};
      const authorization = own ?? credentials(settings, address);
      return authorization === undefined ? {} : { authorization };
    },
  };
}

/** Lines of `name = value`, with variables of the environment in `${}`. */
function* parseNpmrc(text: string, env: RegistryPlace["env"]): Generator<[string, string]> {
  for (const line of text.split("\n")) {
    const [, name, value] = /^\s*([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const plain = value.replace(/^"(.*)"$/, "$1");
    yield [name, plain.replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => env[variable] ?? "")];
  }
}

/** Bun's own file names a registry as a text, or with its address as `url`. */
function parseBunfig(text: string, scope?: string): { plain?: string; scoped?: string } {
  const install = member(parseToml(text), "install");
  const plain = addressOf(member(install, "registry"));
  const scopes = member(install, "scopes");
  const scoped =
    scope && (addressOf(member(scopes, scope)) ?? addressOf(member(scopes, scope.slice(1))));
  return { ...(plain && { plain }), ...(scoped && { scoped }) };
}

function parseToml(text: string): unknown {
  try {
    return Bun.TOML.parse(text);
  } catch {
    return undefined;
  }
}

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

function addressOf(value: unknown): string | undefined {
  const address = typeof value === "string" ? value : member(value, "url");
  return typeof address === "string" && URL.canParse(address) ? address : undefined;
}

const basicOf = ({ username, password }: URL): string | undefined =>
  username === ""
    ? undefined
    : `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`;

/** npm keeps them under the address without its protocol, or under that of a folder above. */
function credentials(
  settings: ReadonlyMap<string, string>,
  { host, pathname }: URL,
): string | undefined {
  const parts = pathname.split("/").filter((part) => part !== "");
  for (let length = parts.length; length >= 0; length--) {
    const folder = `//${[host, ...parts.slice(0, length)].join("/")}/`;
    const token = settings.get(`${folder}:_authToken`);
    if (token !== undefined) return `Bearer ${token}`;
    const basic = settings.get(`${folder}:_auth`);
    if (basic !== undefined) return `Basic ${basic}`;
    const [name, password] = [
      settings.get(`${folder}:username`),
      settings.get(`${folder}:_password`),
    ];
    if (name !== undefined && password !== undefined) {
      return `Basic ${btoa(`${name}:${atob(password)}`)}`;
    }
  }
  return undefined;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
