/** The log goes to somebody who does not read it. */
import { dlopen } from "bun:ffi";
import { describe, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { environmentIn, programUnderTest } from "../support/paddock-process.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { tinyChatConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

/** A node that writes its log to an open file. */
async function nodeLoggingTo(stderr: number, { path: cwd }: TempDir) {
  await writeFile(join(cwd, "paddock.toml"), await tinyChatConfig());
  const node = Bun.spawn([...programUnderTest, "serve", "--port", "0"], {
    cwd,
    env: environmentIn(cwd),
    stdin: "ignore",
    stdout: "pipe",
    stderr,
  });
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of node.stdout) {
    said += decoder.decode(chunk, { stream: true });
    if (said.includes("Try:")) break;
  }
  const origin = /listening on (\S+)/.exec(said)?.[1] ?? "";
  const ask = async (): Promise<number> =>
    (await fetch(`${origin}/v1/models`, { signal: AbortSignal.timeout(5000) })).status;
  return {
    ask,
    async askOften(times: number) {
      for (let n = 0; n < times; n += 20) await Promise.all(Array.from({ length: 20 }, ask));
    },
    async stop(): Promise<number> {
      node.kill("SIGTERM");
      return await node.exited;
    },
    async [Symbol.asyncDispose]() {
      node.kill("SIGKILL");
      await node.exited;
    },
  };
}

/** A pipe with a name, in a folder. */
function namedPipe({ path: folder }: TempDir) {
  const path = join(folder, "log");
  Bun.spawnSync(["mkfifo", path]);
  const open = (flags: number): number => openSync(path, flags);
  return { open, reader: () => readerOf(open(constants.O_RDONLY | constants.O_NONBLOCK)) };
}

/** Reads only when it is asked what came. */
function readerOf(file: number) {
  let log = "";
  let isOpen = true;
  const buffer = Buffer.alloc(65_536);
  const text = (): string => {
    try {
      for (let n = 1; n > 0; log += buffer.toString("utf8", 0, n)) n = readSync(file, buffer);
    } catch {
      // It is empty for a moment.
    }
    return log;
  };
  return {
    text,
    /** How many lines came about requests of a node. */
    asked: () => text().split('"path":"/v1/models"').length - 1,
    [Symbol.dispose]() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

describe.skipIf(process.platform === "win32")("a node whose log nobody reads", () => {
  test("answers, says how many lines were lost once it is read, and ends when it is asked to", async () => {
    await using folder = await tempDir();
    const pipe = namedPipe(folder);
    using reading = pipe.reader();
    const writing = pipe.open(constants.O_WRONLY);
    await using node = await nodeLoggingTo(writing, folder);
    closeSync(writing);
    // A pipe holds some hundred lines, and the node some thousand more.
    await node.askOften(8000);
    expect(await node.ask()).toBe(200);
    await waitFor("the lost lines", () => reading.text().includes("lines of the log were lost"));
    const lines = reading
      .text()
      .trim()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
    const lost = lines.find(({ msg }) => msg.includes("were lost"))?.lines;
    expect(reading.asked() + lost).toBe(8001);
    await node.askOften(1000);
    expect(await node.stop()).toBe(0);
  });

  test("has what the node held when it was stopped, if it is read at once", async () => {
    await using folder = await tempDir();
    const pipe = namedPipe(folder);
    using reading = pipe.reader();
    const writing = pipe.open(constants.O_WRONLY);
    await using node = await nodeLoggingTo(writing, folder);
    closeSync(writing);
    await node.askOften(1000);
    const stopped = node.stop();
    await waitFor("the last line", () => reading.asked() === 1000);
    expect(await stopped).toBe(0);
  });

  test.skipIf(process.platform !== "linux")(
    "answers while a program that shares the pipe has made writes to it wait",
    async () => {
      await using folder = await tempDir();
      const pipe = namedPipe(folder);
      using _reader = pipe.reader();
      const writing = pipe.open(constants.O_WRONLY);
      await using node = await nodeLoggingTo(writing, folder);
      const libc = dlopen("libc.so.6", { fcntl: { args: ["i32", "i32", "i32"], returns: "i32" } });
      const setFlags = 4;
      expect(libc.symbols.fcntl(writing, setFlags, 0)).toBe(0);
      closeSync(writing);
      await node.askOften(2000);
      expect(await node.ask()).toBe(200);
      expect(await node.stop()).toBe(0);
    },
  );

  test("tells the next reader of a named pipe what the last one did not read", async () => {
    await using folder = await tempDir();
    const pipe = namedPipe(folder);
    using first = pipe.reader();
    const writing = pipe.open(constants.O_WRONLY);
    await using node = await nodeLoggingTo(writing, folder);
    closeSync(writing);
    first[Symbol.dispose]();
    await node.askOften(100);
    using next = pipe.reader();
    await waitFor("the lines", () => next.asked() === 100);
    expect(await node.stop()).toBe(0);
  });

  test("and a command waits for who reads it, and loses no line", async () => {
    const script = `
      const { createCommandLog } = await import(${JSON.stringify(join(import.meta.dir, "../../src/cli/log.ts"))});
      // With this a pipe does not hold up who writes to it.
      process.stderr.isTTY;
      const log = createCommandLog({ log_level: "warn" }, false);
      for (let n = 0; n < 3000; n++) log.warn("x".repeat(100));`;
    const piped = '"$0" -e "$1" 2>&1 | (sleep 1; cat)';
    const child = Bun.spawn(["sh", "-c", piped, process.execPath, script], { stdout: "pipe" });
    const lines = (await new Response(child.stdout).text()).trim().split("\n");
    expect(lines).toHaveLength(3000);
  });

  test.skipIf(process.platform !== "linux")("answers while its disk is full", async () => {
    await using folder = await tempDir();
    const full = openSync("/dev/full", "w");
    await using node = await nodeLoggingTo(full, folder);
    closeSync(full);
    await node.askOften(100);
    expect(await node.ask()).toBe(200);
    expect(await node.stop()).toBe(0);
  });
});
