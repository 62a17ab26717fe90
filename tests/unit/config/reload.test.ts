import { describe, expect, test } from "bun:test";
import { loadConfig, planReload } from "../../../src/config/load.ts";
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

  const elsewhere = (source: string, replicas: readonly string[], more = "") =>
    `[[models]]\nname = "far"\ntype = "chat"\nsource = "${source}"\nreplicas = ${JSON.stringify(replicas)}\n${more}`;

  test("takes over the addresses of a model elsewhere, and nothing else of it", () => {
    const before = elsewhere("openai:http://a/v1", ["http://b/v1"]);
    const after = elsewhere("openai:http://c/v1", ["http://d/v1"], "n_predict = 7\n");
    const plan = planReload(config(before), config(after));
    expect([plan.changed, plan.needsRestart]).toEqual([
      ["models.far.source", "models.far.replicas"],
      ["models.far.n_predict"],
    ]);
    expect(plan.config.models).toMatchObject([
      { source: "openai:http://c/v1", replicas: ["http://d/v1"], n_predict: -1 },
    ]);
  });

  test("takes over nothing of a model that moves elsewhere, or back", () => {
    const here = `[[models]]\nname = "far"\ntype = "chat"\nsource = "a.gguf"\n`;
    const there = elsewhere("openai:http://a/v1", ["http://b/v1"]);
    const names = ["models.far.source", "models.far.replicas"];
    expect(changes(here, there)).toEqual({ changed: [], needsRestart: names });
    expect(changes(there, here)).toEqual({ changed: [], needsRestart: names });
  });

  test("takes over the addresses of a reranker elsewhere", () => {
    const reranker = (url: string) => `[retrieval]\nreranker = "openai:${url}"\n`;
    expect(changes(reranker("http://a"), reranker("http://b"))).toEqual({
      changed: ["models.reranker.source"],
      needsRestart: [],
    });
    expect(changes(reranker("http://a"), "")).toEqual({
      changed: [],
      needsRestart: ["retrieval.reranker", "models.reranker"],
    });
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
