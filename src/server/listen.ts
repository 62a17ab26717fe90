/** Starts Bun's HTTP server, and tracks the connection of each request. */

import { parseAddress, parseRange } from "../core/address-range.ts";
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { nextTurn } from "../core/turns.ts";
import { withHost } from "./address.ts";
import { isEventStream } from "./event-format.ts";
import { errorResponse, toNodeError } from "./middleware/errors.ts";

interface ListenOptions {
  hostname: string;
  /** 0: any free port. */
  port: number;
  app: { fetch(request: Request): Response | Promise<Response> };
  connections: Connections;
  /** Seconds that a connection may stay idle after an answer. */
  keepAlive: number;
  log: Log;
}

/** Seconds that a client has to send the headers of its first request. */
const headersTimeout = 10;

/** Requests that are answered in the turn of the loop in which they come. */
const mostInTurn = 16;

/** Starts the server. No answer, whatever the request, exposes the node's internals. */
export function listen({ hostname, port, app, connections, keepAlive, log }: ListenOptions) {
  let inTurn = 0;
  const endTurn = (): void => {
    inTurn = 0;
  };
  return Bun.serve({
    hostname,
    port,
    // Otherwise Bun answers errors with a page that shows paths, source and the stack.
    development: false,
    // Otherwise a second node could listen on the same port.
    reusePort: false,
    // A large body gets an error that explains it; see middleware/read-request.ts.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: headersTimeout,
    async fetch(received, server) {
      // A connection with a long prompt, or a client that pauses, is not idle.
      server.timeout(received, 0);
      const request = withHost(received, server.url.origin);
      const { address } = server.requestIP(received) ?? {};
      // In one turn Bun accepts connections for as long as more come, each as an answer frees its client, and answers 500 KB of what a client sent ahead; all else would wait. It closes a connection that sends more while an answer is pending.
      if (inTurn++ === 0) setImmediate(endTurn);
      if (inTurn > mostInTurn) await nextTurn();
      connections.opened(request, {
        ...given({ address }),
        onIdle: () => server.timeout(received, keepAlive),
      });
      const response = await app.fetch(request);
      // A stream reports its own end.
      if (isEventStream(response)) return response;
      connections.ended(request);
      // Bun begins to send a file with `idleTimeout`, and a client that paused would lose the rest. Does nothing after the answer.
      setImmediate(() => server.timeout(received, keepAlive));
      return response;
    },
    /** Errors outside of the app; the app handles its own. */
    error(error) {
      log.error("a request failed", { error });
      return errorResponse(toNodeError(error));
    },
  });
}

/** The part of a request's connection that the request itself does not carry. */
export interface Connection {
  address?: string;
  /** Called when the answer has ended and the connection becomes idle. */
  onIdle: () => void;
}

export class Connections {
  readonly #of = new WeakMap<Request, Connection>();
  readonly #isProxy: (address: string) => boolean;

  /** `proxies`: addresses and ranges whose `X-Forwarded-For` header is trusted. */
  constructor(proxies: readonly string[] = []) {
    const ranges = proxies.flatMap((text) => parseRange(text) ?? []);
    this.#isProxy = (address) => ranges.some((includes) => includes(address));
  }

  opened(request: Request, connection: Connection): void {
    this.#of.set(request, connection);
  }

  /** The client's IPv4 address or IPv6 network: an IPv6 client can use any address in its /64. */
  clientOf(request: Request): string | undefined {
    const address = this.#of.get(request)?.address;
    return address === undefined ? undefined : toClient(this.#behind(address, request));
  }

  /** `clientOf` for other machines; undefined for this one: a local proxy may have many clients. */
  remoteClientOf(request: Request): string | undefined {
    const client = this.clientOf(request);
    return client === undefined || loopback.test(client) ? undefined : client;
  }

  /** The client of a trusted proxy: the last address in its list that is not a trusted proxy. */
  #behind(address: string, { headers }: Request): string {
    const forwarded = headers.get("x-forwarded-for")?.split(",").slice(-mostProxies) ?? [];
    let client = address;
    while (this.#isProxy(client)) {
      const before = withoutPort(forwarded.pop() ?? "");
      if (parseAddress(before) === undefined) break;
      client = before;
    }
    return client;
  }

  /** Reported once: a later call could be about the next request on the same connection. */
  ended(request: Request): void {
    const connection = this.#of.get(request);
    this.#of.delete(request);
    connection?.onIdle();
  }
}

const loopback = /^(127\.|0:0:0:0::\/64$)/;

const mostProxies = 32;

/** Some proxies write `203.0.113.7:4711` or `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => {
  const [, bracketed, dotted] = /^\s*(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(text) ?? [];
  return bracketed ?? dotted ?? text.trim();
};

function toClient(address: string): string {
  const bits = parseAddress(address);
  if (bits === undefined) return address;
  const isIpv4 = bits >> 32n === 0xffffn;
  if (isIpv4) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join(".");
  const groups = [112n, 96n, 80n, 64n].map((shift) => (bits >> shift) & 0xffffn);
  return `${groups.map((group) => group.toString(16)).join(":")}::/64`;
}
