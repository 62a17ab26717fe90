/** A server that speaks as Redis does and answers what a test says. */
import { rawServer } from "./raw-server.ts";

/** What goes back for a command: numbers, texts, lists and nothing, as Redis has them. */
export type RedisReply = number | string | null | readonly RedisReply[];

export interface ScriptedRedis extends AsyncDisposable {
  url: string;
}

/** `answer`: undefined where it is to answer as a server that holds nothing. */
export async function scriptedRedis(
  answer: (command: string, args: readonly string[]) => RedisReply | undefined,
): Promise<ScriptedRedis> {
  const server = await rawServer((socket) => {
    let pending = "";
    socket.on("data", (bytes) => {
      pending += bytes.toString();
      for (;;) {
        const read = readCommand(pending);
        if (read === undefined) return;
        pending = read.rest;
        const [command = "", ...args] = read.words;
        const said = answer(command, args);
        const reply = said === undefined ? usual(command, args) : said;
        socket.write(command === "HELLO" ? hello : encoded(reply));
      }
    });
  });
  return { ...server, url: server.url.replace("http:", "redis:") };
}

const hello = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";

function usual(command: string, args: readonly string[]): RedisReply {
  if (command === "HLEN") return 0;
  if (command === "HSCAN") return ["0", []];
  if (command === "GET") return null;
  return command === "EVAL" && !args.some((each) => each.endsWith(":probe")) ? [] : "OK";
}

function encoded(reply: RedisReply): string {
  if (reply === null) return "_\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  return `*${reply.length}\r\n${reply.map(encoded).join("")}`;
}

/** The first command of a text of ASCII; undefined until all of it is there. */
function readCommand(text: string): { words: string[]; rest: string } | undefined {
  const head = /^\*(\d+)\r\n/.exec(text);
  if (head === null) return undefined;
  let at = head[0].length;
  const words: string[] = [];
  for (let count = Number(head[1]); count > 0; count--) {
    const length = /^\$(\d+)\r\n/.exec(text.slice(at));
    if (length === null) return undefined;
    const start = at + length[0].length;
    const end = start + Number(length[1]);
    if (text.length < end + 2) return undefined;
    words.push(text.slice(start, end));
    at = end + 2;
  }
  return { words, rest: text.slice(at) };
}
