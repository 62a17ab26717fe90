#!/usr/bin/env bun
/** Process entry: the one place that touches the process. */
import { join } from "node:path";
import { version } from "../package.json" with { type: "json" };
import { runProgram } from "./cli/program.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => stop.abort(new Error(`The process received ${signal}`)));
}

process.exitCode = await runProgram(
  {
    env: process.env,
    cwd: process.cwd(),
    program: [process.execPath, import.meta.path],
    version,
    handbook: join(import.meta.dir, "..", "docs"),
    isTerminal: process.stderr.isTTY === true,
    print: (text) => void process.stdout.write(text),
    say: (text) => void process.stderr.write(text),
    input: {
      isTerminal: process.stdin.isTTY === true,
      stream: () => Bun.stdin.stream(),
      line: async () => {
        for await (const line of console) return line;
        return "";
      },
    },
    stopped: stop.signal,
  },
  process.argv.slice(2),
);
