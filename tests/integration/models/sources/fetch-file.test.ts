import { describe, expect, test } from "bun:test";
import { existsSync, rmSync, truncateSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type FetchOptions, fetchFile } from "../../../../src/models/sources/fetch-file.ts";
import { hubFrom } from "../../../../src/models/sources/hub-reference.ts";
import { modelBytes, sha256Of } from "../../../support/model-bytes.ts";
import { type Answer, type Asked, honest, modelServer } from "../../../support/model-server.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { silentProgress } from "../../../support/silence.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const bytes = modelBytes(400_000);
const half = bytes.slice(0, 200_000);
const whole = honest(bytes);

/** The file as far as its half; then silence, or the loss of the connection once the half is stored in a folder. */
const halfThen = (ending: Answer["ending"] = "stall"): Answer => ({
  status: 200,
  headers: { etag: '"one"', "content-length": String(bytes.length) },
  body: half,
  ending,
});

const halfIsIn = (folder: string) => () =>
  waitFor("half of the file", () => Bun.file(join(folder, "m.gguf.part")).size === half.length);

async function fetchInto(
  folder: string,
  url: string,
  options: Partial<FetchOptions> = {},
): ReturnType<typeof fetchFile> {
  return await fetchFile(`${url}/m.gguf`, join(folder, "m.gguf"), {
    subject: { source: "the model", hub: hubFrom({ HF_ENDPOINT: "https://hub.test" }) },
    progress: silentProgress,
    signal: new AbortController().signal,
    pauseMs: 1,
    ...options,
  });
}

const ranges = (asked: readonly Asked[]): (string | undefined)[] =>
  asked.map(({ headers }) => headers.range);

/** Half of the file, as an interrupted process leaves it. */
async function leaveHalf(folder: string, note: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "m.gguf.part"), half);
  await writeFile(join(folder, "m.gguf.part.json"), JSON.stringify(note));
}

async function expectWhole(folder: string, expected = bytes): Promise<void> {
  expect(await readdir(folder)).toEqual(["m.gguf"]);
  expect(sha256Of(await Bun.file(join(folder, "m.gguf")).bytes())).toBe(sha256Of(expected));
}

describe("a model's file", () => {
  test("is fetched, with its digest, and nothing else remains", async () => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    expect(await fetchInto(folder.path, server.url)).toBe(sha256Of(bytes));
    await expectWhole(folder.path);
  });

  test("that is there is not fetched", async () => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    await writeFile(join(folder.path, "m.gguf"), bytes);
    expect(await fetchInto(folder.path, server.url)).toBeUndefined();
    expect(server.asked).toEqual([]);
    await expectWhole(folder.path);
  });

  test("comes in one piece to two who fetch it at once", async () => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    const both = await Promise.all([
      fetchInto(folder.path, server.url),
      fetchInto(folder.path, server.url),
    ]);
    expect(both.filter((fetched) => fetched !== undefined)).toHaveLength(1);
    expect(server.asked).toHaveLength(1);
    await expectWhole(folder.path);
  });

  test("may come without a length where the server marks its end", async () => {
    const framed = `${bytes.length.toString(16)}\r\n`;
    const body = Buffer.concat([Buffer.from(framed), bytes, Buffer.from("\r\n0\r\n\r\n")]);
    const headers = { "content-length": "none", "transfer-encoding": "chunked" };
    await using server = await modelServer(() => ({ status: 200, headers, body }));
    await using folder = await tempDir();
    await fetchInto(folder.path, server.url);
    await expectWhole(folder.path);
  });
});

describe("an interrupted file", () => {
  test("goes on by itself when the connection is lost", async () => {
    await using folder = await tempDir();
    await using server = await modelServer((asked, before) =>
      before === 0 ? halfThen(halfIsIn(folder.path)) : whole(asked),
    );
    await fetchInto(folder.path, server.url);
    expect(ranges(server.asked)).toEqual([undefined, "bytes=200000-"]);
    expect(server.asked[1]?.headers["if-range"]).toBe('"one"');
    await expectWhole(folder.path);
  });

  test("goes on by itself when the server stalls", async () => {
    await using server = await modelServer((asked, before) =>
      before === 0 ? halfThen() : whole(asked),
    );
    await using folder = await tempDir();
    await fetchInto(folder.path, server.url, { stallMs: 500 });
    // A busy machine may stall as well: it goes on from wherever it was.
    const [first, ...further] = ranges(server.asked);
    expect([first, further]).toEqual([
      undefined,
      further.map(() => expect.stringMatching(/^bytes=\d+-$/)),
    ]);
    expect(further).not.toEqual([]);
    await expectWhole(folder.path);
  });

  test("is given up when nothing comes any more, and kept for the next time", async () => {
    await using folder = await tempDir();
    await using server = await modelServer((_, before) =>
      before === 0 ? halfThen(halfIsIn(folder.path)) : { status: 503 },
    );
    await expect(fetchInto(folder.path, server.url)).rejects.toThrow(
      /answers 503.*200 kB are saved; the next try goes on from there/,
    );
    await using back = await modelServer(whole);
    await fetchInto(folder.path, back.url);
    expect(ranges(back.asked)).toEqual(["bytes=200000-"]);
  });

  test("is given up where a server sends a byte now and then", async () => {
    await using server = await modelServer(() => halfThen("trickle"));
    await using folder = await tempDir();
    await expect(fetchInto(folder.path, server.url, { stallMs: 200 })).rejects.toThrow(
      /127\.0\.0\.1:\d+ sent (only \d+ (bytes?|kB)|nothing) in 0\.2 s\. Check the network/,
    );
  });

  test("is given up where every connection is lost, in words of our own", async () => {
    await using server = await modelServer(() => halfThen(async () => {}));
    await using folder = await tempDir();
    await expect(fetchInto(folder.path, server.url)).rejects.toThrow(
      /cannot be fetched: the connection to 127\.0\.0\.1:\d+ broke off\. Check the network/,
    );
  });

  test("stops when it is asked to, and is kept", async () => {
    await using server = await modelServer(() => halfThen());
    await using folder = await tempDir();
    const stop = new AbortController();
    const fetching = fetchInto(folder.path, server.url, { signal: stop.signal });
    const part = join(folder.path, "m.gguf.part");
    await halfIsIn(folder.path)();
    stop.abort(new Error("asked to stop"));
    await expect(fetching).rejects.toThrow("asked to stop");
    expect(Bun.file(part).size).toBe(half.length);
  });

  test("begins anew where the file changed meanwhile", async () => {
    const other = modelBytes(300_000, 2);
    await using server = await modelServer(honest(other, '"two"'));
    await using folder = await tempDir();
    await leaveHalf(folder.path, { total: bytes.length, etag: '"one"' });
    await fetchInto(folder.path, server.url);
    expect(server.asked[0]?.headers).toMatchObject({
      range: "bytes=200000-",
      "if-range": '"one"',
    });
    await expectWhole(folder.path, other);
  });

  test("begins anew where the digest that it should have is another now", async () => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    await leaveHalf(folder.path, { total: bytes.length, digest: "0".repeat(64) });
    await fetchInto(folder.path, server.url, { sha256: sha256Of(bytes) });
    expect(ranges(server.asked)).toEqual(["bytes=200000-", undefined]);
    await expectWhole(folder.path);
  });

  test.each([
    ["has no note", undefined],
    ["has a note of nothing", "{"],
    ["has a note that does not say which version it is", JSON.stringify({ total: 400_000 })],
  ])("begins anew where what was left %s", async (_, note) => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    await leaveHalf(folder.path, {});
    const path = join(folder.path, "m.gguf.part.json");
    if (note === undefined) await Bun.file(path).delete();
    else await writeFile(path, note);
    await fetchInto(folder.path, server.url);
    expect(ranges(server.asked)).toEqual([undefined]);
    await expectWhole(folder.path);
  });

  test("begins anew where the server ignores ranges, or sends another part", async () => {
    const answers = [
      () => ({ status: 200, headers: { etag: '"one"' }, body: bytes }),
      (asked: Asked) =>
        asked.headers.range === undefined
          ? whole(asked)
          : {
              status: 206,
              headers: { etag: '"one"', "content-range": "bytes 100000-399999/400000" },
              body: bytes.slice(100_000),
            },
    ];
    for (const answer of answers) {
      await using server = await modelServer(answer);
      await using folder = await tempDir();
      await leaveHalf(folder.path, { total: bytes.length, etag: '"one"' });
      await fetchInto(folder.path, server.url);
      await expectWhole(folder.path);
    }
  });

  test("is whole where all of it came before the process died", async () => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    await leaveHalf(folder.path, { total: bytes.length, etag: '"one"' });
    await writeFile(join(folder.path, "m.gguf.part"), bytes);
    await fetchInto(folder.path, server.url);
    expect(server.asked).toHaveLength(1);
    await expectWhole(folder.path);
  });
});

describe("a file that is not what it should be", () => {
  async function refused(
    answer: (asked: Asked, before: number) => Answer,
    options: Partial<FetchOptions> = {},
  ) {
    await using server = await modelServer(answer);
    await using folder = await tempDir();
    const error = await fetchInto(folder.path, server.url, options).then(
      () => new Error("it was taken"),
      (reason: unknown) => reason,
    );
    const left = (await readdir(folder.path)).filter((name) => !name.endsWith(".lock"));
    return { message: error instanceof Error ? error.message : "", left, asked: server.asked };
  }

  test("is removed where its digest is another, and both are said", async () => {
    const expected = "0".repeat(64);
    const { message, left } = await refused(whole, { sha256: expected });
    expect(message).toContain("was removed");
    expect(message).toContain(expected);
    expect(message).toContain(sha256Of(bytes));
    expect(left).toEqual([]);
  });

  test("is refused at its first bytes where it is no GGUF", async () => {
    const { message, left } = await refused(() => ({
      status: 200,
      headers: { "content-length": "8000000000" },
      body: "<!doctype html><title>Log in</title>",
      ending: "stall",
    }));
    expect(message).toContain("is no GGUF file (it begins with");
    expect(message).toContain("<!doctype html>");
    expect(left).toEqual([]);
  });

  test("is refused where it is shorter than a GGUF can be", async () => {
    const { message, left } = await refused(() => ({ status: 200, body: "GG" }));
    expect(message).toContain("is no GGUF file");
    expect(left).toEqual([]);
  });

  test("is refused before it comes where nobody says how long it is", async () => {
    const headers = { "content-length": "none" };
    const { message, left } = await refused(() => ({ status: 200, headers, body: bytes }));
    expect(message).toContain("does not say how long the file is");
    expect(left).toEqual([]);
  });

  test("is taken without a length where its digest is known", async () => {
    const headers = { "content-length": "none" };
    const { left } = await refused(() => ({ status: 200, headers, body: bytes }), {
      sha256: sha256Of(bytes),
    });
    expect(left).toEqual(["m.gguf"]);
  });

  test("is refused where it never is as long as the server says", async () => {
    const { message, asked } = await refused(() => ({
      status: 200,
      headers: { "content-length": "500000" },
      body: bytes,
    }));
    expect(message).toContain("cannot be fetched: the connection to 127.0.0.1");
    expect(asked.length).toBeGreaterThan(1);
  });

  test("is refused where more comes than the server said", async () => {
    const framed = `${bytes.length.toString(16)}\r\n`;
    await using server = await modelServer(() => ({
      status: 206,
      headers: {
        "content-length": "none",
        "transfer-encoding": "chunked",
        "content-range": "bytes 200000-399999/400000",
      },
      body: Buffer.concat([Buffer.from(framed), bytes, Buffer.from("\r\n0\r\n\r\n")]),
    }));
    await using folder = await tempDir();
    await leaveHalf(folder.path, { total: bytes.length, etag: '"one"' });
    await expect(fetchInto(folder.path, server.url)).rejects.toThrow(
      "sends more than the 400000 bytes it promised",
    );
    expect(await readdir(folder.path)).toEqual([]);
  });

  test.each([
    ["moved", rmSync],
    ["cut", truncateSync],
  ])("is refused where it was %s while it came", async (_, change) => {
    await using server = await modelServer(whole);
    await using folder = await tempDir();
    const update = (): void => {
      if (existsSync(join(folder.path, "m.gguf.part"))) change(join(folder.path, "m.gguf.part"));
    };
    const progress = { step: () => ({ ...silentProgress.step("", 0, "bytes"), update }) };
    const refused = fetchInto(folder.path, server.url, { progress });
    expect(await rejectionOf(refused)).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("while it was downloaded"),
    });
    expect(await readdir(folder.path)).toEqual([]);
    await fetchInto(folder.path, server.url);
    await expectWhole(folder.path);
  });

  test("is refused where the server finds a range unsatisfiable that was not asked for", async () => {
    // It was asked again for ever.
    const { message, asked } = await refused((question, before) =>
      before > 50
        ? whole(question)
        : { status: 416, headers: { "content-range": "bytes */400000" } },
    );
    expect(message).toBe(
      "The server's answer makes no sense: it refuses a range (416) where none was asked for.",
    );
    expect(asked).toHaveLength(1);
  });

  test("is refused before it comes where there is no room for it", async () => {
    const { message, left } = await refused(() => ({
      status: 200,
      headers: { "content-length": "9000000000000000" },
      body: bytes,
      ending: "stall",
    }));
    expect(message).toMatch(
      /too little room for 'the model': 9000.0 TB are needed and .* are free/,
    );
    expect(left).toEqual([]);
  });

  test("is refused where it would fill the disk and nobody said how long it is", async () => {
    const framed = `${bytes.length.toString(16)}\r\n`;
    const { message, left } = await refused(
      () => ({
        status: 200,
        headers: { "content-length": "none", "transfer-encoding": "chunked" },
        body: Buffer.concat([Buffer.from(framed), bytes, Buffer.from("\r\n")]),
        ending: "stall",
      }),
      { reserveBytes: Number.MAX_SAFE_INTEGER },
    );
    expect(message).toContain("does not say how long the file is, and too little room is left");
    expect(left).toEqual([]);
  });

  test("is refused where the server cannot be reached, with what to do", async () => {
    await using folder = await tempDir();
    await expect(fetchInto(folder.path, "http://127.0.0.1:9")).rejects.toThrow(
      /127\.0\.0\.1:9 cannot be reached \(the connection is refused\)\. Check.*HTTPS_PROXY/,
    );
  });

  test("is refused where it is on another machine and not encrypted", async () => {
    await using folder = await tempDir();
    await expect(fetchInto(folder.path, "http://models.example")).rejects.toThrow(
      "must be an https:// address",
    );
    const { message } = await refused(() => ({
      status: 302,
      headers: { location: "http://models.example/m.gguf" },
    }));
    expect(message).toContain("must be an https:// address");
  });
});
