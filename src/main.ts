#!/usr/bin/env bun
/** Process entry: the one place that touches the process, but for the thread of parent-watch.ts. */
import { once } from "node:events";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isatty } from "node:tty";
import { version } from "../package.json" with { type: "json" };
import { printable, wantsColour } from "./cli/printing.ts";
import { handbookPagesIn } from "./ingest/handbook.ts";
import { readerCommand } from "./ingest/reading-process.ts";
import { executable } from "./packaging/executable-contents.ts";
import { cacheFolder, setProgramFolders } from "./packaging/native-libraries.ts";
import { runnerCommand } from "./runner/runner-process.ts";
import {
  endWithParentProcess,
  engineEnvironment,
  processStart,
  wakeAtOnce,
} from "./subprocess/program.ts";

/** Exit codes; those of commands are in cli/program.ts. */
const interrupted = 130;
const unread = 141;
/** How long a node's last words wait for somebody to read them. */
const lastWordsMs = 1000;

setProgramFolders({
  cacheFolder: resolve(
    cacheFolder({ env: process.env, platform: process.platform, home: homedir() }),
  ),
  user: process.getuid?.(),
  programFolder: dirname(process.execPath),
});

if (process.argv[2] === runnerCommand) await beRunner();
else if (process.argv[2] === readerCommand) await beReader();
else process.exitCode = await beProgram();

async function beRunner(): Promise<void> {
  const send = asChild("A runner is started by a node, not by hand: 'paddock serve'.");
  const { serveCalls } = await import("./runner/serve-calls.ts");
  const answer = serveCalls(send, () => ({
    bytes: process.memoryUsage.rss(),
    pageFaults: process.resourceUsage().majorPageFault,
  }));
  process.on("message", answer);
  wakeAtOnce();
  send({ type: "listening" });
}

/** Ends with its parent, and with nothing else: a Ctrl-C that reaches both is theirs to answer. Returns the channel. */
function asChild(byHand: string): NonNullable<typeof process.send> {
  const send = process.send?.bind(process);
  if (send === undefined) {
    process.stderr.write(`${byHand}\n`);
    process.exit(2);
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  // The closed channel is noticed by a loop that turns; the rest holds for one that is blocked or stopped too.
  process.on("disconnect", () => process.exit(0));
  const parent = process.ppid;
  if (process.platform !== "linux" || !endWithParentProcess()) {
    new Worker(new URL("./parent-watch.ts", import.meta.url)).unref();
  }
  // One that ended before sends nothing to do, and its channel is closed: the loop is free to notice.
  if (process.ppid !== parent) process.exit(0);
  return send;
}

async function beReader(): Promise<void> {
  const send = asChild("A reader is started by 'paddock ingest', not by hand.");
  const { runReader } = await import("./cli/reader.ts");
  runReader({ send, listen: (hear) => void process.on("message", hear) });
}

async function beProgram(): Promise<number> {
  // Who reads the output may have enough of it, as `head` does. A node serves on: it has other callers.
  const isNode = process.argv[2] === "serve";
  if (isNode) wakeAtOnce();
  process.stdout.on("error", () => (isNode ? undefined : process.exit(unread)));
  if (isNode) process.stderr.on("error", () => {});
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // Heard for good: a library that finds nobody listening any more would end the process itself.
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(interrupted);
      stop.abort(new Error(`The process received ${signal}`));
    });
  }
  const onHangup = isNode
    ? hangups(() => stop.abort(new Error("The terminal was closed")))
    : () => new DisposableStack();
  const { runProgram } = await import("./cli/program.ts");
  const code = await runProgram(
    {
      env: process.env,
      cwd: process.cwd(),
      program: {
        // A .env file of the folder is the node's, as its environment is.
        command:
          executable === undefined
            ? [process.execPath, "--no-env-file", import.meta.path]
            : [process.execPath],
        env: engineEnvironment(process.env),
      },
      version,
      build:
        executable === undefined
          ? "from source"
          : `commit ${executable.commit}, llama.cpp ${executable.llamaRelease}`,
      handbook: async () =>
        executable?.handbook ?? (await handbookPagesIn(join(import.meta.dir, "..", "docs"))),
      isTerminal: process.stderr.isTTY === true,
      hasColour: wantsColour(process.env, process.stdout.isTTY === true),
      print: (text) => void process.stdout.write(printable(text)),
      printAll: async (texts) => {
        for await (const text of texts) {
          if (!process.stdout.write(printable(text))) await once(process.stdout, "drain");
        }
      },
      say: (text) => void process.stderr.write(printable(text)),
      paint: (text) => void process.stdout.write(text),
      draw: (text) => void process.stderr.write(text),
      input: {
        isTerminal: process.stdin.isTTY === true,
        stream: () => Bun.stdin.stream(),
        line: async () => {
          for await (const line of console) return line;
          return "";
        },
        terminal: () => ({ input: process.stdin, output: process.stdout }),
      },
      residentMemory: () => process.memoryUsage.rss(),
      processes: {
        id: process.pid,
        startOf: processStart,
        hangUp: (id) => void process.kill(id, "SIGHUP"),
      },
      onHangup,
      stopped: stop.signal,
      end: (code) => process.exit(code),
    },
    process.argv.slice(2),
  );
  if (isNode) setTimeout(() => process.exit(code), lastWordsMs).unref();
  return code;
}

/**
 * Listens for SIGHUP, by which a terminal that is closed tells its processes to end, too: from the start,
 * since it ends a process that does not. What comes before somebody hears it is heard then.
 */
function hangups(end: () => void): (hear: () => void) => Disposable {
  const hadTerminal = isatty(process.stderr.fd);
  let isWaiting = false;
  let hear = (): void => {
    isWaiting = true;
  };
  process.on("SIGHUP", () => (hadTerminal && !isatty(process.stderr.fd) ? end() : hear()));
  return (next) => {
    hear = next;
    if (isWaiting) hear();
    return {
      [Symbol.dispose]() {
        hear = () => {};
      },
    };
  };
}
