/** A replica that answers as badly as it is told to: a real server on loopback. */
import { createServer, type Socket } from "node:net";
import { freePort } from "./free-port.ts";

/**
 * `well`: as a server of the OpenAI API; `hangs`: takes requests and never answers; `breaks off`:
 * amid the answer; `garbage`: what is no HTTP; `no json`: a page; `busy`: 503 with Retry-After.
 */
export type Behaviour = "well" | "hangs" | "breaks off" | "garbage" | "no json" | "busy";

export interface FaultyReplica extends AsyncDisposable {
  url: string;
  behaviour: Behaviour;
  /** Paths of the requests that came. */
  readonly asked: string[];
  /** Stops listening, and closes what is open. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
}

export async function faultyReplica(behaviour: Behaviour = "well"): Promise<FaultyReplica> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const port = await freePort();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString();
      if (!text.includes("\r\n\r\n")) return;
      asked.push(text.split(" ")[1] ?? "");
      text = "";
      answer(socket, replica.behaviour, String(port));
    });
  });
  const start = async (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
    await promise;
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
    await promise;
  };
  await start();
  const replica: FaultyReplica = {
    url: `http://127.0.0.1:${port}/v1`,
    behaviour,
    asked,
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return replica;
}

function answer(socket: Socket, behaviour: Behaviour, name: string): void {
  switch (behaviour) {
    case "well":
      socket.end(response("200 OK", JSON.stringify({ object: "list", data: [{ id: name }] })));
      break;
    case "hangs":
      break;
    case "breaks off":
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{"data": [', () =>
        socket.destroy(),
      );
      break;
    case "garbage":
      socket.end("\u0000\u0001\u0002 what is this?\r\n\r\n");
      break;
    case "no json":
      socket.end(response("200 OK", "<html>Welcome to nginx!</html>"));
      break;
    case "busy":
      socket.end(response("503 Service Unavailable", "{}", "Retry-After: 3\r\n"));
      break;
  }
}

const response = (status: string, body: string, headers = ""): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
