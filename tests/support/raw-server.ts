/** A server of bytes: what it answers need not be HTTP. */
import { createServer, type Socket } from "node:net";

export interface RawServer extends AsyncDisposable {
  url: string;
  /** How many connections were opened. */
  connections(): number;
}

export async function rawServer(answer: (socket: Socket) => void): Promise<RawServer> {
  let connections = 0;
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    connections++;
    open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers the first bytes of each connection with these, and then does as it is told. */
export const afterRequest =
  (text: string, then: (socket: Socket) => void = () => {}) =>
  (socket: Socket): void => {
    socket.once("data", () => socket.write(text, () => then(socket)));
  };
