/** A port for a program that cannot be given any: free, and reserved for as long as this process runs. */
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/**
 * Below the ports that systems give to servers on port 0 and to outgoing connections: nobody gets it
 * while its server is not there yet, or is down for a while.
 */
const lowest = 12_000;
const highest = 28_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
}

/** Other runs of the tests see that the UDP port of the same number is taken; it goes with the process. */
function isReserved(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createSocket("udp4").on("error", () => resolve(false));
  socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
    socket.unref();
    resolve(true);
  });
  return promise;
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer().on("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return promise;
}
