import { afterEach, describe, expect, jest, test } from "bun:test";
import type { Socket } from "node:net";
import {
  type ExchangeRequest,
  exchange,
  readText,
} from "../../../../src/gateway/upstream/http-exchange.ts";
import { CountedTurns } from "../../../support/counted-turns.ts";
import { afterRequest, rawServer } from "../../../support/raw-server.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { waitFor } from "../../../support/wait-for.ts";

const { signal } = new AbortController();

async function ask(url: string, rest: Partial<ExchangeRequest> = {}) {
  using response = await exchange({ url, signal, silenceMs: 60_000, ...rest });
  const chunks = await Array.fromAsync(response.bytes());
  return { status: response.status, text: Buffer.concat(chunks).toString() };
}

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
const whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

afterEach(() => void jest.useRealTimers());

describe("a request to a server elsewhere", () => {
  test("sends its body and its key, and hears the answer", async () => {
    await using server = await rawServer((socket) => {
      socket.on("data", (bytes) => {
        const sent = bytes.toString();
        const ok = sent.endsWith('{"a":1}') && /authorization: Bearer k/i.test(sent);
        socket.write(ok && sent.startsWith("POST /v1/x ") ? whole : "HTTP/1.1 400 No\r\n\r\n");
      });
    });
    expect(
      await ask(`${server.url}/v1/x`, { body: ['{"a":', Buffer.from("1"), "}"], key: "k" }),
    ).toEqual({
      status: 200,
      text: "ok",
    });
  });

  test("sends all of a large body to a server that takes its time", async () => {
    const body = ['{"image":"', Buffer.alloc(4 << 20, "x"), '"}'];
    const hash = new Bun.CryptoHasher("sha256");
    await using server = await rawServer((socket) => {
      let received = "";
      socket.on("data", (bytes) => {
        received += bytes.toString("latin1");
        const start = received.indexOf("\r\n\r\n") + 4;
        socket.pause();
        setImmediate(() => socket.resume());
        if (received.length - start < (4 << 20) + 12) return;
        hash.update(received.slice(start));
        socket.write(whole);
      });
    });
    expect(await ask(server.url, { body })).toEqual({ status: 200, text: "ok" });
    const sent = new Bun.CryptoHasher("sha256").update(body.map(String).join(""));
    expect(hash.digest("hex")).toBe(sent.digest("hex"));
  });

  test("stops sending a body when the server answers before its end", async () => {
    const early = "HTTP/1.1 413 Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    await using server = await rawServer(afterRequest(early, (socket) => socket.pause()));
    const body = [Buffer.alloc(24 << 20, "x")];
    expect(await ask(server.url, { body })).toEqual({ status: 413, text: "no" });
  });

  test("gives up its connection, and a body that the server did not take before it answered", async () => {
    const closed = Promise.withResolvers<void>();
    const answer = afterRequest(whole, (socket) => void socket.pause());
    await using server = await rawServer((socket) => {
      socket.on("close", () => closed.resolve());
      answer(socket);
      setTimeout(() => socket.resume(), 100);
    });
    const body = [Buffer.alloc(24 << 20, "x")];
    expect(await ask(server.url, { body })).toEqual({ status: 200, text: "ok" });
    await closed.promise;
  });

  test("follows no redirect: the key would go with it", async () => {
    const moved =
      "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    await using server = await rawServer(afterRequest(moved));
    expect(await ask(server.url)).toMatchObject({ status: 307 });
  });

  test.each([
    ["nobody listens", undefined, "the connection is refused"],
    ["it hangs up", afterRequest("", (socket) => socket.destroy()), "the connection broke off"],
    [
      "it breaks off",
      afterRequest(chunked, (socket) => socket.destroy()),
      "the connection broke off",
    ],
    [
      "it ends too early",
      afterRequest(chunked, (socket) => socket.end()),
      "the connection broke off",
    ],
    ["it does not speak HTTP", afterRequest("hello\r\n\r\n"), "it does not speak HTTP"],
    [
      "it turns to another protocol",
      afterRequest("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello"),
      "it turns to another protocol",
    ],
    [
      "it announces its answer without end",
      afterRequest("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(200)),
      "it announces its answer without end",
    ],
  ] as const)("fails in plain words where %s", async (_, answer, why) => {
    await using server = await rawServer(answer ?? (() => {}));
    const url = answer === undefined ? "http://127.0.0.1:1/" : server.url;
    expect(await rejectionOf(ask(url))).toMatchObject({ name: "ConnectionFailure", message: why });
  });

  test("names a host that nobody knows", async () => {
    expect(await rejectionOf(ask("http://nowhere.invalid/"))).toMatchObject({
      message: expect.stringMatching(/^its host name /),
    });
  });

  test.each([
    ["never answers", () => {}],
    ["stops amid its answer", afterRequest(chunked)],
  ])("gives up a server that %s", async (_, answer) => {
    await using server = await rawServer(answer);
    expect(await rejectionOf(ask(server.url, { silenceMs: 100 }))).toMatchObject({
      message: "no answer for 0.1 s",
      isSilence: true,
    });
  });

  test("hears an answer that came while this process stood still", async () => {
    await using server = await rawServer(
      afterRequest(whole, () => {
        Bun.sleepSync(1500);
      }),
    );
    expect(await ask(server.url, { silenceMs: 200 })).toEqual({ status: 200, text: "ok" });
  });

  test("gives up a body that trickles without end, and closes its connection", async () => {
    const left = Promise.withResolvers<void>();
    const trickle = (socket: Socket): void => {
      const timer = setInterval(() => socket.write("1\r\n \r\n"), 10);
      socket.on("close", () => {
        clearInterval(timer);
        left.resolve();
      });
    };
    await using server = await rawServer(afterRequest(chunked, trickle));
    using response = await exchange({ url: server.url, signal, silenceMs: 60_000 });
    expect(await rejectionOf(readText(response, 1 << 20, 200))).toMatchObject({
      message: "no complete answer for 0.2 s",
      isSilence: true,
    });
    await left.promise;
  });

  test("takes single bytes that come at once in a few pieces, and a turn of the loop for each", async () => {
    const many = 300_000;
    const bytes = "1\r\nx\r\n".repeat(many);
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    await using server = await rawServer(afterRequest(`${head}${bytes}0\r\n\r\n`));
    using response = await exchange({ url: server.url, signal, silenceMs: 60_000 });
    using turns = new CountedTurns();
    const lengths = (await Array.fromAsync(response.bytes())).map(({ length }) => length);
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(many);
    expect(lengths.length).toBeLessThan(many / 100);
    expect(turns.now).toBeGreaterThan(2);
  });

  test("hears an answer that was announced a few times", async () => {
    const hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    await using server = await rawServer(afterRequest(hints + whole));
    expect(await ask(server.url)).toEqual({ status: 200, text: "ok" });
  });

  test("does not take the reader's own pause for silence", async () => {
    const asked = Promise.withResolvers<Socket>();
    await using server = await rawServer(afterRequest(chunked, asked.resolve));
    jest.useFakeTimers();
    using response = await exchange({ url: server.url, signal, silenceMs: 1000 });
    let pieces = 0;
    for await (const _ of response.bytes()) {
      pieces++;
      // As it reads, it looks at its watch several times.
      for (let seconds = 0; seconds < 5; seconds++) jest.advanceTimersByTime(1000);
      (await asked.promise).write("0\r\n\r\n");
    }
    expect(pieces).toBe(1);
  });

  test("is asked again on a new connection where the server closed the one that was kept", async () => {
    await using server = await rawServer((socket) => {
      let asked = 0;
      socket.on("data", () => (asked++ === 0 ? socket.write(whole) : socket.destroy()));
    });
    expect(await ask(server.url)).toEqual({ status: 200, text: "ok" });
    expect(await ask(server.url)).toEqual({ status: 200, text: "ok" });
    expect(server.connections()).toBe(2);
  });

  test("leaves its connection to the next, also where the end of the answer is of no interest", async () => {
    let end = (): void => {};
    await using server = await rawServer((socket) => {
      socket.on("data", () => socket.write(chunked));
      end = () => socket.write("0\r\n\r\n");
    });
    jest.useFakeTimers();
    for (let round = 0; round < 20; round++) {
      const response = await exchange({ url: server.url, signal, silenceMs: 0 });
      for await (const _ of response.bytes()) break;
      response.release();
      end();
      // The rest is waited for by a timer, which goes when it has come.
      while (jest.getTimerCount() > 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.connections()).toBe(1);
  });

  test.each(["release", "dispose"] as const)(
    "keeps no connection for an answer that nobody read: %s",
    async (how) => {
      let open = 0;
      await using server = await rawServer((socket) => {
        open++;
        socket.on("data", () => socket.write(whole)).on("close", () => open--);
      });
      for (let round = 0; round < 5; round++) {
        const response = await exchange({ url: server.url, signal, silenceMs: 0 });
        if (how === "release") response.release();
        else response[Symbol.dispose]();
        await new Promise((resolve) => setImmediate(resolve));
      }
      // One is kept for the next.
      await waitFor("the others to be closed", () => open <= 1);
    },
  );

  test("is ended at the server when its signal is aborted, whether somebody reads or not", async () => {
    for (const reads of [true, false]) {
      let closed = false;
      const answer = afterRequest(chunked);
      await using server = await rawServer((socket) => {
        socket.on("close", () => {
          closed = true;
        });
        answer(socket);
      });
      const leave = new AbortController();
      const response = await exchange({ url: server.url, signal: leave.signal, silenceMs: 0 });
      const reading = reads ? rejectionOf(Array.fromAsync(response.bytes())) : undefined;
      leave.abort(new Error("left"));
      if (reading !== undefined) expect(await reading).toMatchObject({ message: "left" });
      await waitFor("the connection to close", () => closed);
    }
  });

  test.each(["aborted", "silent"] as const)(
    "does not take an answer for whole that only the end of its connection ends, when it was %s",
    async (how) => {
      const untilClosed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello";
      await using server = await rawServer(afterRequest(untilClosed));
      const leaving = new AbortController();
      const silenceMs = how === "silent" ? 50 : 60_000;
      const request = { url: server.url, signal: leaving.signal, silenceMs };
      using response = await exchange(request);
      const bytes = response.bytes()[Symbol.asyncIterator]();
      expect(Buffer.from((await bytes.next()).value ?? []).toString()).toBe("hello");
      const rest = rejectionOf(bytes.next());
      if (how === "aborted") leaving.abort(new Error("The node is stopping"));
      expect(await rest).toMatchObject(
        how === "aborted" ? { message: "The node is stopping" } : { isSilence: true },
      );
    },
  );

  test("is not sent where its signal was aborted before", async () => {
    const left = AbortSignal.abort(new Error("left"));
    expect(await rejectionOf(ask("http://127.0.0.1:1/", { signal: left }))).toMatchObject({
      message: "left",
    });
  });

  test("is one of as many as there are: 400 at once, with no line for the next", async () => {
    await using server = await rawServer(afterRequest(chunked));
    const held = await Promise.all(
      Array.from({ length: 400 }, () => exchange({ url: server.url, signal, silenceMs: 0 })),
    );
    expect(held.map(({ status }) => status)).toEqual(Array(400).fill(200));
    for (const response of held) response[Symbol.dispose]();
  });

  test("reads no more than its reader takes: a server that sends without end waits", async () => {
    let sent = 0;
    await using server = await rawServer((socket) => {
      const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
      const more = (): void => {
        while (socket.writable && socket.write(piece)) sent++;
      };
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        socket.on("drain", more);
        more();
      });
    });
    using response = await exchange({ url: server.url, signal, silenceMs: 0 });
    for await (const _ of response.bytes()) break;
    let before = -1;
    await waitFor("the server to be held up", async () => {
      const isStill = sent === before;
      before = sent;
      await Bun.sleep(200);
      return isStill;
    });
    // What the system keeps between two sockets, and not a byte of memory for the rest.
    expect(sent * 65_536).toBeLessThan(64 * 1024 * 1024);
  });
});
