/** Where a Qdrant server is, and the key for it. */
import { NodeError } from "../../core/errors.ts";

const defaultPorts: Readonly<Record<string, number>> = { "http:": 6333, "https:": 443 };

/**
 * As the node shows it, and as requests begin: without a credential, with a path. `https://host` is
 * a server behind a proxy, on 443; `http://host` is Qdrant itself, on 6333.
 */
export function qdrantAddress(url: string): string {
  const parsed = URL.parse(url);
  const defaultPort = defaultPorts[parsed?.protocol ?? ""];
  if (parsed === null || defaultPort === undefined) {
    throw refused("is none; write it as http://host:6333 or https://host");
  }
  const { protocol, hostname, pathname } = parsed;
  if (parsed.username !== "" || parsed.password !== "") {
    throw refused(`(${hostname}) holds a credential; give the key as the API key instead`);
  }
  if (parsed.search !== "" || parsed.hash !== "") {
    throw refused(`(${hostname}) may have a path, but no query and no fragment`);
  }
  const port = explicitPort(url, parsed) ?? defaultPort;
  const isUsual = protocol === "https:" && port === 443;
  return `${protocol}//${hostname}${isUsual ? "" : `:${port}`}${pathname.replace(/\/+$/, "")}`;
}

/** A parsed URL drops its protocol's default port, but `http://host:80` must not become 6333. */
function explicitPort(url: string, { protocol, port }: URL): number | undefined {
  if (port !== "") return Number(port);
  return protocol === "http:" && /^\s*http:\/*[^/?#]*:0*80\s*(?:[/?#]|$)/i.test(url)
    ? 80
    : undefined;
}

const refused = (reason: string): NodeError =>
  new NodeError("invalid_request", `The address of the Qdrant server ${reason}.`);

/** Checked here, because the error for an invalid header would show its value, the key. */
export function checkedKey(apiKey: string): string {
  if (/^[\x21-\x7e]*$/.test(apiKey)) return apiKey;
  const why =
    "The API key for the Qdrant server holds spaces or characters that a key cannot have.";
  throw new NodeError("invalid_request", why);
}
