/** The server that listens, Bun's, and what it knows of each connection. */
import { isAddress, parseRange } from "../core/address-range.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { withHost } from "./address.ts";
import { errorResponse, toNodeError } from "./middleware/errors.ts";
import { isEventStream } from "./sse.ts";

interface ListenOptions {
  hostname: string;
  /** 0: any free one. */
  port: number;
  app: { fetch(request: Request): Response | Promise<Response> };
  connections: Connections;
  /** Seconds that a connection may be idle after an answer. */
  keepAlive: number;
  log: Log;
}

/** Seconds that a client has to send its first request's headers. */
const headersTimeout = 10;

/** Whatever it is sent, it says nothing of the node's inside. */
export function listen({ hostname, port, app, connections, keepAlive, log }: ListenOptions) {
  return Bun.serve({
    hostname,
    port,
    // Else Bun answers what fails with a page that shows paths, source and the stack.
    development: false,
    // Which else lets a second node listen on the same port.
    reusePort: false,
    // Sizes are rejected with a body that says so; see middleware/read-request.ts.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: headersTimeout,
    async fetch(received, server) {
      // A long prompt, or a reader that pauses, is not an idle connection.
      server.timeout(received, 0);
      const request = withHost(received, server.url.origin);
      const address = server.requestIP(received)?.address;
      connections.opened(request, {
        ...given({ address }),
        onIdle: () => server.timeout(received, keepAlive),
      });
      const response = await app.fetch(request);
      // A stream reports its own end.
      if (!isEventStream(response)) connections.ended(request);
      return response;
    },
    /** What fails outside of the app, which answers for its own. */
    error(error) {
      log.error("a request failed", { error });
      return errorResponse(toNodeError(error));
    },
  });
}

/** What the server knows of a request's connection, which the request itself does not say. */
export interface Connection {
  /** The client's address; absent where the server cannot tell it. */
  address?: string;
  /** Called when the answer has ended: from then on the connection is idle. */
  onIdle: () => void;
}

export class Connections {
  readonly #of = new WeakMap<Request, Connection>();
  readonly #isProxy: (address: string) => boolean;

  /** `proxies`: addresses and ranges whose word is taken for whom they ask. */
  constructor(proxies: readonly string[] = []) {
    const ranges = proxies.flatMap((text) => parseRange(text) ?? []);
    this.#isProxy = (address) => ranges.some((includes) => includes(address));
  }

  opened(request: Request, connection: Connection): void {
    this.#of.set(request, connection);
  }

  /** The client's address, or of an IPv6 address the network: a client has all of it to choose from. */
  clientOf(request: Request): string | undefined {
    const address = this.#of.get(request)?.address;
    return address === undefined ? undefined : toClient(this.#behind(address, request));
  }

  /** The same for a client on another machine; undefined for this machine, where a proxy asks for many. */
  remoteClientOf(request: Request): string | undefined {
    const client = this.clientOf(request);
    return client === undefined || loopback.test(client) ? undefined : client;
  }

  /** Whom a trusted proxy asks for: the last in its list that is no such proxy itself. */
  #behind(address: string, { headers }: Request): string {
    const forwarded = headers.get("x-forwarded-for")?.split(",").slice(-mostProxies) ?? [];
    let client = address;
    while (this.#isProxy(client)) {
      const before = withoutPort(forwarded.pop() ?? "");
      if (!isAddress(before)) break;
      client = before;
    }
    return client;
  }

  /** Says so once: what comes later may be of the next request on the same connection. */
  ended(request: Request): void {
    const connection = this.#of.get(request);
    this.#of.delete(request);
    connection?.onIdle();
  }
}

const loopback = /^(127\.|0:0:0:0::\/64$)/;

/** Most proxies that a request passes. */
const mostProxies = 32;

/** Some proxies write `203.0.113.7:4711` or `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => {
  const [, bracketed, dotted] = /^\s*(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(text) ?? [];
  return bracketed ?? dotted ?? text.trim();
};

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

function toClient(address: string): string {
  const ipv4 = mapped.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().replace(/%.*$/, "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
