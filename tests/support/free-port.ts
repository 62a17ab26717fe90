/** A port that was free a moment ago, for programs that cannot be given any. */
import { createServer } from "node:net";

export function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer().on("error", reject);
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    server.close(() =>
      typeof address === "object" && address !== null
        ? resolve(address.port)
        : reject(new Error("No free port")),
    );
  });
  return promise;
}
