import { describe, expect, test } from "bun:test";
import { ConfigError, checkExposure } from "../../../src/config/consistency.ts";
import { loadConfig } from "../../../src/config/load.ts";

const toml = (text: string, env: Record<string, string> = {}) =>
  loadConfig({ file: { path: "paddock.toml", text }, env, flags: {} });

function refusal(text: string, env: Record<string, string> = {}): string {
  try {
    toml(text, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("The configuration was accepted");
}

const model = (name: string, type: string, source: string): string =>
  `[[models]]\nname = "${name}"\ntype = "${type}"\nsource = "${source}"\n`;

test("a trusted proxy must be an address or a range", () => {
  const proxies = (text: string) => `[http]\ntrusted_proxies = ["10.0.0.0/8", "${text}"]`;
  expect(toml(proxies("fd00::/8")).http.trusted_proxies).toEqual(["10.0.0.0/8", "fd00::/8"]);
  for (const text of ["10.0.0.0/33", "10.0.0.300", "proxy.example.org"]) {
    expect(refusal(proxies(text))).toStartWith(
      "paddock.toml: 'http.trusted_proxies[1]' must be an address or a range, such as '192.0.2.7' or '10.0.0.0/8'; found",
    );
  }
});

describe("settings that do not fit each other", () => {
  test("are two models of one name", () => {
    const text = model("twin", "chat", "./a.gguf") + model("twin", "embedding", "./b.gguf");
    expect(refusal(text)).toBe(
      "paddock.toml: 'models[1].name' must be unique; found 'twin' twice.",
    );
  });

  test.each([
    ["chat", "starter:embedding", "'starter:chat'"],
    ["embedding", "starter:chat", "'starter:embedding' or 'starter:embedding-gte-small'"],
    ["chat", "starter:other", "'starter:chat'"],
    ["chat", "starter:embedding-gte-small", "'starter:chat'"],
  ])("are a model of type %s with the source %s", (type, source, wanted) => {
    expect(refusal(model("a", type, source))).toBe(
      `paddock.toml: 'models[0].source' must be ${wanted} for a starter model of type '${type}'; found '${source}'.`,
    );
  });

  test.each(["auto", "starter:chat"])("are a digest and the source %s", (source) => {
    const digest = "a1".repeat(32);
    expect(refusal(`${model("a", "chat", source)}sha256 = "${digest}"`)).toBe(
      `paddock.toml: 'models[0].sha256' is of a file that 'source' names; with '${source}' leave it out.`,
    );
    expect(() => toml(`${model("a", "chat", "./a.gguf")}sha256 = "${digest}"`)).not.toThrow();
    expect(refusal(`${model("a", "chat", "./a.gguf")}sha256 = "123"`)).toContain(
      "'models[0].sha256'",
    );
  });

  test.each([
    'cache_type_k = "q8_0"',
    'cache_type_v = "q8_0"',
    'flash_attention = "on"',
    'lora = [{ path = "a.gguf" }]',
  ])("are a model that does not chat and %s", (line) => {
    const [key] = line.split(" ");
    for (const type of ["embedding", "reranker"]) {
      expect(refusal(`${model("a", type, "./a.gguf")}${line}`)).toBe(
        `paddock.toml: 'models[0].${key}' is for a model of type 'chat'; found '${type}'. Leave it out.`,
      );
    }
    expect(() => toml(`${model("a", "chat", "./a.gguf")}${line}`)).not.toThrow();
  });

  test("are quantized values in the cache and no flash attention", () => {
    const settings = 'cache_type_k = "q4_0"\nflash_attention = "off"\n';
    expect(() => toml(model("a", "chat", "./a.gguf") + settings)).not.toThrow();
    expect(refusal(`${model("a", "chat", "./a.gguf")}${settings}cache_type_v = "q8_0"`)).toBe(
      "paddock.toml: 'models[0].cache_type_v' must be 'f16', since any other type needs flash attention; found 'q8_0' with flash_attention = 'off'.",
    );
  });

  test("are a model and an address without encryption", () => {
    expect(refusal(model("a", "chat", "http://models.example/a.gguf"))).toBe(
      "paddock.toml: 'models[0].source' must be an https:// address; plain http is for this machine only.",
    );
    expect(() => toml(model("a", "chat", "http://127.0.0.1:8000/a.gguf"))).not.toThrow();
  });

  test.each([
    [model("a", "embedding", "./a.gguf"), "(a)"],
    [model("b", "chat", "./b.gguf"), "(none is configured)"],
  ])("are a collection and a model that cannot fill it: %j", (models, names) => {
    expect(refusal(`[vectorstore]\nembedding_model = "b"\n${models}`)).toBe(
      `paddock.toml: 'vectorstore.embedding_model' must name an embedding model ${names}; found 'b'.`,
    );
  });

  test("are no models at all", () => {
    expect(refusal("models = []")).toBe(
      "paddock.toml: 'models' must be a list of at least 1; found a list of 0.",
    );
  });
});

describe("settings that fit each other", () => {
  test.each([
    "./a.gguf",
    "/models/a.gguf",
    "https://models.example/a.gguf",
    "hf:owner/repo:Q4_K_M",
  ])("are a model of either type with the source %s", (source) => {
    const { models } = toml(model("a", "chat", source) + model("b", "embedding", source));
    expect(models.map((found) => found.source)).toEqual([source, source]);
  });

  test("are a collection and the second of two embedding models", () => {
    const models = model("a", "embedding", "./a.gguf") + model("b", "embedding", "./b.gguf");
    const { vectorstore } = toml(`[vectorstore]\nembedding_model = "b"\n${models}`);
    expect(vectorstore.embedding_model).toBe("b");
  });
});

describe("an address that others can reach", () => {
  const exposure = (text: string, hasKeys = false) => checkExposure(toml(text), hasKeys);

  test.each(["0.0.0.0", "::", "192.168.1.5", "127.0.0.1.example.com", "localhost.example.com"])(
    "is %s, which wants a key",
    (host) => {
      const text = `host = "${host}"`;
      expect(() => exposure(text)).toThrow(ConfigError);
      expect(() => exposure(text)).toThrow(
        /'host' is '.*', which others can reach, .*'paddock keys create NAME', set PADDOCK_API_KEYS .*open = true/,
      );
    },
  );

  test.each(["127.0.0.1", "127.8.9.10", "localhost", "::1"])("is not %s", (host) => {
    expect(() => exposure(`host = "${host}"`)).not.toThrow();
  });

  test("is allowed with a key, one that was given out too, or when the configuration says that it is open", () => {
    const host = 'host = "0.0.0.0"\n[auth]\n';
    expect(() => exposure(`${host}api_keys = ["a-good-key"]`)).not.toThrow();
    expect(() => exposure(`${host}open = true`)).not.toThrow();
    expect(() => exposure(host, true)).not.toThrow();
    expect(() => exposure(`${host}open = false\napi_keys = []`)).toThrow(ConfigError);
  });
});

describe("an API key", () => {
  test.each<[string, Record<string, string>]>([
    ["", { PADDOCK_API_KEYS: "pa$$" }],
    ["", { PADDOCK_API_KEYS: "a-good-key,pa$$" }],
    ["", { PADDOCK_API_KEY: "pa$$word" }],
    ['[auth]\napi_keys = "pa$$word"', {}],
    ['[auth]\napi_keys = ["pa$$"]', {}],
    ['[auth]\napi_key = ["pa$$word"]', {}],
    ['api_keys = ["pa$$word"]', {}],
    ['auth = "pa$$word"', {}],
    ['[auth]\napi_keys = ["pa$$word"', {}],
    ['host = "0.0.0.0"\nport = "x"\n[auth]\napi_keys = ["pa$$word"]', {}],
  ])("is never in a message: %j %j", (text, env) => {
    expect(refusal(text, env)).not.toContain("pa$$");
  });

  test("that is too short is refused by the name of its origin", () => {
    expect(refusal("", { PADDOCK_API_KEYS: "a-good-key,short" })).toBe(
      "environment variable PADDOCK_API_KEYS: 'auth.api_keys[1]' must be a key of at least 8 characters; found another value (not shown).",
    );
  });
});
