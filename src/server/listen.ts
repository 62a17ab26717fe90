/** The server that listens: Bun's, which says nothing of the node's inside whatever it is sent. */
import { given } from "../core/given.ts";
import type { Log } from "../core/log.ts";
import { withHost } from "./address.ts";
import type { Connections } from "./connections.ts";
import { errorResponse, toNodeError } from "./middleware/errors.ts";
import { isEventStream } from "./sse.ts";

export interface ListenOptions {
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

export function listen({ hostname, port, app, connections, keepAlive, log }: ListenOptions) {
  return Bun.serve({
    hostname,
    port,
    // Else Bun answers what fails with a page that shows paths, source and the stack.
    development: false,
    // Which else lets a second node listen on the same port.
    reusePort: false,
    // Sizes are refused with a body that says so; see middleware/body-limit.ts.
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
