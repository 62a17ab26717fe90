/** A server of files that can be made to behave as badly as the network does. */
import { createServer, type Socket } from "node:net";

export interface Asked {
  method: string;
  /** With its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
}

export interface Answer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array | string;
  /** What follows the body: nothing any more, a byte now and then, or the connection's loss once something happened; default: its end. */
  ending?: "stall" | "trickle" | (() => Promise<void>);
}

interface ModelServer extends AsyncDisposable {
  url: string;
  asked: Asked[];
  /** Waits until it was asked so many times. */
  askedTimes(count: number): Promise<void>;
}

/** `answer` is told what was asked and how many times something was asked before. */
export async function modelServer(
  answer: (asked: Asked, before: number) => Answer,
): Promise<ModelServer> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  let arrived = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that gives up is part of what is tested.
    socket.on("error", () => {});
    let head = "";
    socket.on("data", (data) => {
      head += data.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      const request = parse(head);
      head = "";
      asked.push(request);
      write(socket, answer(request, asked.length - 1));
      arrived.resolve();
      arrived = Promise.withResolvers();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    async askedTimes(count) {
      while (asked.length < count) await arrived.promise;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function parse(head: string): Asked {
  const [first = "", ...lines] = (head.split("\r\n\r\n")[0] ?? "").split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(":");
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  });
  return { method, path, headers: Object.fromEntries(headers) };
}

function write(socket: Socket, { status, headers = {}, body = "", ending }: Answer): void {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const all: Record<string, string> = { "content-length": String(bytes.length), ...headers };
  // An answer without a length is named so, to keep it out.
  if (all["content-length"] === "none") delete all["content-length"];
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} Said\r\n${lines.join("")}connection: close\r\n\r\n`);
  if (ending === undefined) socket.end(bytes);
  else socket.write(bytes);
  if (ending === "trickle") {
    const timer = setInterval(() => socket.write("a"), 5);
    socket.on("close", () => clearInterval(timer));
  }
  if (typeof ending === "function") void ending().then(() => socket.destroy());
}

/** A file as an honest server gives it: whole, or from where it is asked to go on. */
export function honest(bytes: Uint8Array, etag = '"one"'): (asked: Asked) => Answer {
  return ({ headers }) => {
    const start = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    const isSame = headers["if-range"] === undefined || headers["if-range"] === etag;
    const common = { etag, "accept-ranges": "bytes" };
    if (headers.range === undefined || !isSame)
      return { status: 200, headers: common, body: bytes };
    if (start >= bytes.length) {
      return { status: 416, headers: { ...common, "content-range": `bytes */${bytes.length}` } };
    }
    return {
      status: 206,
      headers: {
        ...common,
        "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}`,
      },
      body: bytes.slice(start),
    };
  };
}
