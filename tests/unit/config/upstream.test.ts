import { describe, expect, test } from "bun:test";
import { loadConfig } from "../../../src/config/load.ts";
import { isUpstream, upstreamUrls } from "../../../src/config/model-schema.ts";

const load = (text: string, env: Record<string, string> = {}) =>
  loadConfig({ file: { path: "paddock.toml", text }, env, flags: {} });

const model = (lines: string, source = "openai:http://gpu-1:8000/v1"): string =>
  `[[models]]\nname = "far"\ntype = "chat"\nsource = "${source}"\n${lines}\n`;

function refusal(toml: string): string {
  try {
    load(toml);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("It was not refused");
}

describe("an upstream model", () => {
  test("has addresses, a name there, the name of a variable, and settings that requests fall back on", () => {
    const [far] = load(
      model(
        'replicas = ["http://gpu-2:8000/v1/", "http://gpu-1:8000/v1"]\nupstream_model = "org/far"\napi_key_env = "GPU_KEY"\nupstream_timeout = 0\nctx_size = 8192\ntemperature = 0.6\nmin_p = 0.1\nn_predict = 100',
        "openai:http://gpu-1:8000/v1/",
      ),
    ).models;
    expect(far).toMatchObject({
      upstream_model: "org/far",
      api_key_env: "GPU_KEY",
      upstream_timeout: 0,
      ctx_size: 8192,
      temperature: 0.6,
    });
    if (far === undefined) throw new Error("no model");
    expect([isUpstream(far.source), upstreamUrls(far)]).toEqual([
      true,
      ["http://gpu-1:8000/v1", "http://gpu-2:8000/v1"],
    ]);
  });

  test.each([
    'sha256 = "9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0"',
    'quantization = "q8_0"',
    'transcode = "first"',
    'prompt_template = "chatml"',
    "n_gpu_layers = 0",
    "batch_size = 512",
    'cache_type_k = "f16"',
    'cache_type_v = "q8_0"',
    'flash_attention = "auto"',
    "lora = []",
    "parallel = 4",
    "max_queue = 64",
    "keep_alive = 60",
  ])("has no weights here, so it has no %s", (line) => {
    const [key = ""] = line.split(" ");
    expect(refusal(model(line))).toBe(
      `paddock.toml: 'models[0].${key}' cannot be set: the upstream server decides that; leave it out.`,
    );
  });

  test("has replicas that are addresses", () => {
    expect(refusal(model('replicas = ["http://gpu-2:99999/v1"]'))).toContain(
      "'models[0].replicas' must be addresses",
    );
  });

  test("has no context that fits the memory", () => {
    expect(refusal(model('ctx_size = "auto"'))).toContain("'models[0].ctx_size' cannot be 'auto'");
  });

  test.each([
    "openai:",
    "openai:gpu-1:8000",
    "openai:ftp://gpu-1",
    "openai:http://gpu-1:99999/v1",
    "openai:http://user:secret-word@gpu-1/v1",
    "openai:http://gpu-1/v1?key=secret-word",
  ])("has an address without credentials, which is not repeated: %s", (source) => {
    const message = refusal(model("", source));
    expect(message).toStartWith(
      "paddock.toml: 'models[0].source' must be 'openai:' and an http(s)://",
    );
    expect(message).not.toContain("secret-word");
  });

  test.each([
    [
      'api_key_env = "sk-secret-word"',
      "the name of an environment variable that holds the key, and not the key",
    ],
    ['replicas = ["http://u:secret-word@gpu-2/v1"]', "an http(s):// address without credentials"],
  ])("does not show what may be a key: %s", (line, expected) => {
    const message = refusal(model(line));
    expect(message).toContain(expected);
    expect(message).not.toContain("secret-word");
  });

  test.each([
    'upstream_model = "org/far"',
    'api_key_env = "GPU_KEY"',
    'replicas = ["http://gpu-2/v1"]',
    "upstream_timeout = 5",
    "vision = true",
    "vision = false",
  ])("is the only one that has %s", (line) => {
    const [key = ""] = line.split(" ");
    expect(refusal(model(line, "starter:chat"))).toBe(
      `paddock.toml: 'models[0].${key}' is for an upstream model, whose source begins with 'openai:'; leave it out.`,
    );
  });

  test("reads images only as a chat model", () => {
    const embedding = model("vision = true").replace('"chat"', '"embedding"');
    expect(refusal(embedding)).toBe(
      "paddock.toml: 'models[0].vision' is for a model of type 'chat'; found 'embedding'. Leave it out.",
    );
  });

  test("may have its key in a variable of any name, those of the node's own among them", () => {
    const config = load(model('api_key_env = "PADDOCK_FAR_KEY"'), { PADDOCK_FAR_KEY: "secret" });
    expect(JSON.stringify(config)).not.toContain("secret");
    expect(() => load(model(""), { PADDOCK_FAR_KEY: "secret" })).toThrow("PADDOCK_FAR_KEY");
  });
});
