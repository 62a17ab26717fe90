import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../src/config/load.ts";
import { planReload } from "../../../src/config/reload.ts";
import type { Config } from "../../../src/config/schema.ts";

const chat = `[[models]]\nname = "a"\ntype = "chat"\nsource = "a.gguf"\n`;
const embedding = `[[models]]\nname = "b"\ntype = "embedding"\nsource = "b.gguf"\n`;

const config = (text: string): Config =>
  loadConfig({ file: { path: "paddock.toml", text }, env: {}, flags: {} });

/** The names that a change of the text gives. */
function changes(before: string, after: string): { changed: string[]; needsRestart: string[] } {
  const { changed, needsRestart } = planReload(config(before), config(after));
  return { changed, needsRestart };
}

describe("a configuration that is read again", () => {
  test("changes nothing where it is the same", () => {
    const running = config(chat + embedding);
    expect(planReload(running, config(chat + embedding))).toEqual({
      config: running,
      changed: [],
      needsRestart: [],
    });
  });

  test("takes over the log level and limits", () => {
    const after = `log_level = "debug"\n[limits]\nconcurrency = 3\nmax_messages = 9\n`;
    expect(changes("", after)).toEqual({
      changed: ["log_level", "limits.max_messages", "limits.concurrency"],
      needsRestart: [],
    });
    const { limits, log_level } = planReload(config(""), config(after)).config;
    expect([limits.concurrency, limits.max_messages, log_level]).toEqual([3, 9, "debug"]);
  });

  test("names everything else that changed, and leaves it as it was", () => {
    const after = `port = 9000\n[auth]\napi_keys = ["a-secret-key"]\n[limits]\nconcurrency = 3\n`;
    const plan = planReload(config(""), config(after));
    expect([plan.changed, plan.needsRestart]).toEqual([
      ["limits.concurrency"],
      ["port", "auth.api_keys"],
    ]);
    expect([plan.config.port, plan.config.auth.api_keys]).toEqual([8080, []]);
  });

  test("names a restart's keys again until it comes", () => {
    const { config: running } = planReload(config(""), config("port = 9000"));
    expect(planReload(running, config("port = 9000")).needsRestart).toEqual(["port"]);
  });

  test("tells models apart by their names, wherever they stand", () => {
    expect(changes(chat + embedding, `${chat}ctx_size = 512\n${embedding}`).needsRestart).toEqual([
      "models.a.ctx_size",
    ]);
    expect(changes(chat, chat + embedding).needsRestart).toEqual(["models.b"]);
    expect(changes(chat + embedding, embedding).needsRestart).toEqual(["models.a"]);
    expect(changes(chat + embedding, embedding + chat).needsRestart).toEqual([
      "the order of models",
    ]);
  });
});
