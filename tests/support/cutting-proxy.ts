/** A proxy on loopback that cuts a stream amid its first event, for a server that dies at its first token. */
import { connect, createServer, type Socket } from "node:net";

export interface CuttingProxy extends AsyncDisposable {
  url: string;
  /** The next streams are cut, and each time this is called. */
  cut(onCut: () => void): void;
  /** How many were. */
  readonly cuts: number;
}

/** What a stream's first event begins with. */
const beginning = "data: {";

export async function cuttingProxy(target: { port: number }): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let onCut: (() => void) | undefined;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(target.port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    }
    client.on("data", (bytes) => void upstream.write(bytes)).on("close", () => upstream.destroy());
    let isCut = false;
    let seen = "";
    upstream.on("data", (data) => {
      if (isCut) return;
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      seen += bytes.toString("latin1");
      const at = seen.indexOf(beginning);
      if (onCut === undefined || at === -1) {
        client.write(bytes);
        return;
      }
      isCut = true;
      cuts++;
      const before = seen.length - bytes.length;
      client.write(bytes.subarray(0, Math.max(0, at + beginning.length - before)), () => {
        client.destroy();
        onCut?.();
      });
    });
    upstream.on("close", () => {
      if (!isCut) client.end();
    });
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It has no port");
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    cut(called) {
      onCut = called;
    },
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of sockets) socket.destroy();
      await closed.promise;
    },
  };
}
