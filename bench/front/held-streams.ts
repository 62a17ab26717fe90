/** Streams that are held open over sockets of their own: fetch would hold 256 at most. */
import type { Socket } from "bun";
import type { ChatServer } from "../measuring/client.ts";

export interface HeldStreams extends Disposable {
  /** Settles when every stream has had so many tokens since it began; throws where one ended before. */
  reached(tokens: number): Promise<void>;
}

interface Held {
  tokens: number;
  /** What came behind the last whole event. */
  rest: string;
  isOver: boolean;
}

const pollMs = 20;

export async function holdStreams(server: ChatServer, count: number): Promise<HeldStreams> {
  const { hostname, port, pathname } = new URL(`${server.baseUrl}/chat/completions`);
  const sockets: Socket<Held>[] = [];
  for (let at = 0; at < count; at++) {
    const body = JSON.stringify({
      model: server.model,
      messages: [{ role: "user", content: `Stream ${at}: tell a long story.` }],
      max_tokens: 1_000_000,
      stream: true,
    });
    const request = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    sockets.push(await open(hostname, Number(port), request));
  }
  return {
    async reached(tokens) {
      for (const { data } of sockets) {
        while (data.tokens < tokens) {
          if (data.isOver) throw new Error(`A stream ended after ${data.tokens} tokens`);
          await Bun.sleep(pollMs);
        }
      }
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.end();
    },
  };
}

/** A token has content; what ends a stream, or says who speaks, has none. */
const token = /"content":"[^"]/g;

const open = (hostname: string, port: number, request: string): Promise<Socket<Held>> =>
  Bun.connect<Held>({
    hostname,
    port,
    data: { tokens: 0, rest: "", isOver: false },
    socket: {
      open: (socket) => void socket.write(request),
      data({ data }, bytes) {
        const text = data.rest + bytes.toString();
        const end = text.lastIndexOf("\n\n");
        data.rest = text.slice(end + 1);
        data.tokens += text.slice(0, end + 1).match(token)?.length ?? 0;
      },
      close({ data }) {
        data.isOver = true;
      },
    },
  });
