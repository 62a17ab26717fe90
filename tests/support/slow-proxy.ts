/** Stands before a server and passes everything on, as late as it is told. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface SlowProxy extends Disposable {
  port: number;
  /** How long each piece of an answer takes. */
  delayMs: number;
}

export async function slowProxy(target: number): Promise<SlowProxy> {
  const settings = { delayMs: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes) => setTimeout(() => client.write(bytes), settings.delayMs));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("It listens nowhere");
  return {
    port: address.port,
    get delayMs() {
      return settings.delayMs;
    },
    set delayMs(ms) {
      settings.delayMs = ms;
    },
    [Symbol.dispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
