import { describe, expect, test } from "bun:test";
import { endAnyway, runningConfig } from "../../../../src/cli/serve/serve-node.ts";
import { ConfigError } from "../../../../src/config/consistency.ts";
import { loadConfig } from "../../../../src/config/load.ts";
import type { Config } from "../../../../src/config/schema.ts";
import { recordingLog } from "../../../support/recording-log.ts";

const config = (text: string): Config =>
  loadConfig({ file: { path: "paddock.toml", text }, env: {}, flags: {} });

function running(read: () => Promise<Config>) {
  const applied: Config[] = [];
  const { log, lines } = recordingLog();
  const apply = (next: Config) => void applied.push(next);
  return { it: runningConfig({ config: config(""), read, apply, log }), applied, lines };
}

describe("the configuration of a running node", () => {
  test("is applied where it is right, and the log has the names of what changed", async () => {
    const { it, applied, lines } = running(async () => config('port = 1\nlog_level = "warn"'));
    expect(await it.reload()).toEqual({ changed: ["log_level"], needsRestart: ["port"] });
    expect(applied).toEqual([{ ...config(""), log_level: "warn" }]);
    expect(it.current()).toEqual({ ...config(""), log_level: "warn" });
    expect(lines.map(({ level, fields }) => [level, fields])).toEqual([
      ["info", { changed: ["log_level"] }],
      ["warn", { keys: ["port"] }],
    ]);
  });

  test("changes nothing where it is wrong, and the log says which key is", async () => {
    const { it, applied, lines } = running(async () => config("[limits]\nconcurrency = -1"));
    const { error } = await it.reload();
    expect(error).toContain("paddock.toml: 'limits.concurrency' must be");
    expect([applied, it.current()]).toEqual([[], config("")]);
    expect(lines).toEqual([
      {
        level: "error",
        message: "the configuration was read again and is wrong; nothing was changed",
        fields: { reason: error },
      },
    ]);
  });

  test("changes nothing where it cannot be read", async () => {
    const { it, applied } = running(() => Promise.reject(new ConfigError("it is gone")));
    expect(await it.reload()).toEqual({ changed: [], needsRestart: [], error: "it is gone" });
    expect(applied).toEqual([]);
  });
});

describe("a node that is asked to stop", () => {
  const ending = () => {
    const stop = new AbortController();
    const ended = Promise.withResolvers<number>();
    const { log, lines } = recordingLog();
    const shell = { stopped: stop.signal, end: ended.resolve };
    return { stop, ended: ended.promise, lines, guard: endAnyway(shell, () => 1, log) };
  };

  test("ends although its parts never close, and says so", async () => {
    const { stop, ended, lines } = ending();
    stop.abort();
    expect(await ended).toBe(1);
    expect(lines.map(({ level }) => level)).toEqual(["error"]);
  });

  test("is left alone once it has closed", async () => {
    const { stop, ended, lines, guard } = ending();
    stop.abort();
    guard[Symbol.dispose]();
    expect(await Promise.race([ended, Bun.sleep(20)])).toBeUndefined();
    expect(lines).toEqual([]);
  });
});
