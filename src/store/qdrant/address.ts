/** A Qdrant server's address: what the client must be told, and what may be shown to people. */
import { NodeError } from "../../core/errors.ts";

export interface QdrantAddress {
  /** Without a credential. */
  shown: string;
  /** As the client's constructor takes them: it drops a path in `url` and takes 6333 for any port that is not given. */
  client: { url: string; port: number; prefix: string };
}

const defaultPorts: Readonly<Record<string, number>> = { "http:": 6333, "https:": 443 };

/** `https://host` is a server behind a proxy, on 443; `http://host` is Qdrant itself, on 6333. */
export function qdrantAddress(url: string): QdrantAddress {
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
  const origin = `${protocol}//${hostname}`;
  const prefix = pathname.replace(/\/+$/, "");
  const isUsual = protocol === "https:" && port === 443;
  return {
    shown: `${origin}${isUsual ? "" : `:${port}`}${prefix}`,
    client: { url: origin, port, prefix },
  };
}

/** A parsed URL forgets a port that its protocol has anyway, but `http://host:80` does not mean 6333. */
function explicitPort(url: string, { protocol, port }: URL): number | undefined {
  if (port !== "") return Number(port);
  return protocol === "http:" && /^\s*http:\/*[^/?#]*:0*80\s*(?:[/?#]|$)/i.test(url)
    ? 80
    : undefined;
}

const refused = (reason: string): NodeError =>
  new NodeError("invalid_request", `The address of the Qdrant server ${reason}.`);
