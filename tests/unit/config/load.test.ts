import { describe, expect, test } from "bun:test";
import { ConfigError } from "../../../src/config/consistency.ts";
import { loadConfig, secretsIn } from "../../../src/config/load.ts";
import type { Config } from "../../../src/config/schema.ts";
import { settings } from "../../../src/config/settings.ts";
import { defaultGroundingPrompt } from "../../../src/core/chat/rag.ts";

interface Given {
  toml?: string;
  env?: Record<string, string>;
  flags?: Record<string, string>;
}

function load({ toml, env = {}, flags = {} }: Given): Config {
  const file = toml === undefined ? {} : { file: { path: "paddock.toml", text: toml } };
  return loadConfig({ ...file, env, flags });
}

function refusal(given: Given): string {
  try {
    load(given);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("The configuration was accepted");
}

const modelDefaults = {
  replicas: [],
  upstream_timeout: 120,
  prompt_template: "auto",
  n_predict: -1,
  n_gpu_layers: "auto",
  ctx_size: 0,
  batch_size: "auto",
  cache_type_k: "f16",
  cache_type_v: "f16",
  flash_attention: "auto",
  lora: [],
  parallel: 4,
  max_queue: 64,
  keep_alive: -1,
  quantization: "auto",
  transcode: "auto",
  temperature: 1,
  top_p: 1,
  repeat_penalty: 1,
  repeat_last_n: -1,
  dry_base: 1.75,
  dry_allowed_length: 2,
  presence_penalty: 0,
  frequency_penalty: 0,
};

/** A text for each setting that differs from its default, and the value that it means. */
const samples: Record<string, readonly [text: string, value: unknown]> = {
  PADDOCK_HOST: ["::1", "::1"],
  PADDOCK_PORT: ["9090", 9090],
  PADDOCK_DATA_DIR: ["/var/paddock", "/var/paddock"],
  PADDOCK_LOG_LEVEL: ["debug", "debug"],
  PADDOCK_LOG_PROMPTS: ["1", true],
  PADDOCK_API_KEYS: ["first-key, second-key,", ["first-key", "second-key"]],
  PADDOCK_AUTH_OPEN: ["true", true],
  PADDOCK_THREADS: ["3", 3],
  PADDOCK_ISOLATION: ["none", "none"],
  PADDOCK_MEMORY_LIMIT: ["4000", 4000],
  PADDOCK_SERVE_MODELS: ["none", "none"],
  PADDOCK_PULL_FROM: ["hf:owner/,npm:", ["hf:owner/", "npm:"]],
  PADDOCK_COLLECTION: ["notes", "notes"],
  PADDOCK_GPU_LIBRARIES: ["/opt/gpu", "/opt/gpu"],
  PADDOCK_VECTORSTORE_URL: ["https://qdrant.example:8443/x", "https://qdrant.example:8443/x"],
  PADDOCK_VECTORSTORE_API_KEY: ["secret", "secret"],
  PADDOCK_VECTORSTORE_TIMEOUT: ["2.5", 2.5],
  PADDOCK_RETRIEVAL_MODE: ["dense", "dense"],
  // A source: the model that it is of.
  PADDOCK_RERANKER: ["./reranker.gguf", "reranker"],
  PADDOCK_RAG_POLICY: ["system-message", "system-message"],
  PADDOCK_LIMIT: ["9", 9],
  PADDOCK_SCORE_THRESHOLD: ["-0.5", -0.5],
  PADDOCK_MAX_BODY_BYTES: ["2048", 2048],
  PADDOCK_REQUEST_TIMEOUT: ["30", 30],
  PADDOCK_SHUTDOWN_GRACE: ["0", 0],
  PADDOCK_METRICS_OPEN: ["true", true],
  PADDOCK_OTLP_ENDPOINT: ["http://127.0.0.1:4318", "http://127.0.0.1:4318"],
  PADDOCK_BODY_TIMEOUT: ["5", 5],
  PADDOCK_MAX_IMAGE_BYTES: ["2048", 2048],
  PADDOCK_MAX_MESSAGES: ["10", 10],
  PADDOCK_MAX_INPUTS: ["20", 20],
  PADDOCK_CONNECTIONS_PER_CLIENT: ["0", 0],
  PADDOCK_DEFAULT_REQUESTS_PER_MINUTE: ["60", 60],
  PADDOCK_DEFAULT_TOKENS_PER_MINUTE: ["9000", 9000],
  PADDOCK_DEFAULT_CONCURRENCY: ["2", 2],
  PADDOCK_SHARED_REDIS: ["rediss://ada:p%40ss@redis:6380/2", "rediss://ada:p%40ss@redis:6380/2"],
  PADDOCK_SHARED_PASSWORD: ["secret", "secret"],
  PADDOCK_SHARED_PREFIX: ["nodes", "nodes"],
  PADDOCK_SHARED_WHEN_AWAY: ["refuse", "refuse"],
  PADDOCK_SHARED_TIMEOUT: ["0.5", 0.5],
  PADDOCK_KEEP_ALIVE: ["20", 20],
  PADDOCK_OLLAMA: ["false", false],
  PADDOCK_STALL_TIMEOUT: ["30", 30],
  PADDOCK_CORS_ORIGINS: [
    "https://app.example.org, http://localhost:3000",
    ["https://app.example.org", "http://localhost:3000"],
  ],
  PADDOCK_ALLOWED_HOSTS: ["node.example.org", ["node.example.org"]],
  PADDOCK_TRUSTED_PROXIES: ["192.0.2.7,10.0.0.0/8", ["192.0.2.7", "10.0.0.0/8"]],
};

const placed = ([head, leaf]: readonly string[], value: unknown): Record<string, unknown> =>
  leaf === undefined ? { [String(head)]: value } : { [String(head)]: { [leaf]: value } };

describe("the configuration", () => {
  test("has a default for everything", () => {
    expect<unknown>(load({})).toEqual({
      host: "127.0.0.1",
      port: 8080,
      data_dir: ".paddock",
      log_level: "info",
      log_prompts: false,
      auth: { api_keys: [], open: false },
      http: {
        ...{ keep_alive: 60, stall_timeout: 60 },
        ...{ cors_origins: [], allowed_hosts: [], trusted_proxies: [] },
      },
      vectorstore: {
        url: "embedded",
        timeout: 5,
        collection_name: "default",
        limit: 5,
        score_threshold: 0.4,
        handbook: true,
      },
      retrieval: { mode: "hybrid", candidates: 50 },
      rag: {
        policy: "off",
        prompt: defaultGroundingPrompt,
        limit: 5,
        score_threshold: 0.4,
        auto_threshold: 0.45,
        context_window: 1,
        follow_ups: true,
      },
      engine: {
        threads: 0,
        isolation: "process",
        heartbeat_timeout: 30,
        step_timeout: 60,
        native_steps: true,
        share_prefixes: false,
        memory_limit: 0,
      },
      models_folder: { serve: "auto", keep_alive: 300, pull_from: ["hf:", "npm:"] },
      shared: { prefix: "paddock", when_away: "serve", timeout: 0.25 },
      metrics: { open: false },
      telemetry: {},
      ingest: {
        max_file_bytes: 67_108_864,
        max_unpacked_bytes: 67_108_864,
        max_unpack_ratio: 100,
        max_elements: 500_000,
        max_pages: 5000,
        max_records: 1_000_000,
        max_text_length: 67_108_864,
        read_timeout: 120,
        read_memory: 2048,
      },
      documents: {
        max_file_bytes: 67_108_864,
        max_bytes: 10_737_418_240,
        max_bytes_per_key: 0,
        max_files: 100_000,
        max_files_per_key: 0,
        max_passages: 1_000_000,
        max_passages_per_key: 0,
        max_vector_stores: 1000,
        max_queue: 10_000,
      },
      responses: {
        keep_for: 2_592_000,
        max_bytes: 1_073_741_824,
        max_response_bytes: 8_388_608,
        max_background: 4,
        max_queue: 64,
      },
      limits: {
        max_body_bytes: 16 * 1024 * 1024,
        request_timeout: 600,
        shutdown_grace: 10,
        body_timeout: 30,
        max_image_bytes: 8 * 1024 * 1024,
        max_messages: 2048,
        max_inputs: 2048,
        connections_per_client: 256,
        requests_per_minute: 0,
        tokens_per_minute: 0,
        concurrency: 0,
      },
      models: [
        {
          ...modelDefaults,
          name: "TinyLlama-1.1B-Chat-v1.0",
          type: "chat",
          source: "starter:chat",
        },
        {
          ...modelDefaults,
          name: "all-MiniLM-L6-v2",
          type: "embedding",
          source: "starter:embedding",
        },
      ],
    });
  });

  test("takes the file, the environment over it, and the command line over both", () => {
    const toml = 'port = 1\ndata_dir = "file"\nlog_level = "error"';
    const env = { PADDOCK_PORT: "2", PADDOCK_DATA_DIR: "env" };
    const { port, data_dir, log_level } = load({ toml, env, flags: { port: "3" } });
    expect({ port, data_dir, log_level }).toEqual({ port: 3, data_dir: "env", log_level: "error" });
  });

  test("keeps the rest of a section of which the environment gives one key", () => {
    const toml = "[vectorstore]\nlimit = 3\nscore_threshold = 0.2";
    expect(load({ toml, env: { PADDOCK_LIMIT: "4" } }).vectorstore).toMatchObject({
      limit: 4,
      score_threshold: 0.2,
    });
  });

  test("keeps zero and false from every origin", () => {
    const toml = `[auth]\nopen = false\n[vectorstore]\nhandbook = false\nscore_threshold = 0
      [[models]]\nname = "a"\ntype = "chat"\nsource = "./a.gguf"\ntemperature = 0\ntop_p = 0\nn_predict = 0`;
    const config = load({ toml, env: { PADDOCK_PORT: "0" }, flags: { threads: "0" } });
    expect(config).toMatchObject({
      port: 0,
      auth: { open: false },
      engine: { threads: 0 },
      vectorstore: { handbook: false, score_threshold: 0 },
      models: [{ temperature: 0, top_p: 0, n_predict: 0 }],
    });
    const env = { PADDOCK_SCORE_THRESHOLD: "0", PADDOCK_AUTH_OPEN: "0" };
    expect(load({ toml: "[auth]\nopen = true", env })).toMatchObject({
      auth: { open: false },
      vectorstore: { score_threshold: 0 },
    });
  });

  test("unloads models only where each has a process of its own", () => {
    const model = '[[models]]\nname = "a"\ntype = "chat"\nsource = "./a.gguf"\nkeep_alive = 60';
    expect(load({ toml: model }).models[0]?.keep_alive).toBe(60);
    expect(() => load({ toml: `[engine]\nisolation = "none"\n${model}` })).toThrow(
      "paddock.toml: 'models[0].keep_alive' unloads models, which needs engine.isolation = 'process'; found 'none'.",
    );
    expect(() => load({ flags: { isolation: "none", "memory-limit": "100" } })).toThrow(
      "option --memory-limit: 'engine.memory_limit' unloads models",
    );
  });

  test("serves the models folder without sections, and beside them only if it is told to", () => {
    const served = (toml: string): string => load({ toml }).models_folder.serve;
    const section = '[[models]]\nname = "m"\ntype = "chat"\nsource = "m.gguf"\n';
    const all = '[models_folder]\nserve = "all"\n';
    expect(["", all, section, all + section].map(served)).toEqual(["auto", "auto", "none", "all"]);
    expect(served('[models_folder]\nserve = "none"')).toBe("none");
    // Models that run in the node's process cannot be unloaded.
    expect(served('[engine]\nisolation = "none"')).toBe("none");
    expect(() => load({ toml: `${all}${section}[engine]\nisolation = "none"` })).toThrow(
      "'models_folder.serve' loads and unloads models",
    );
  });

  test.each(["file:", "./models/", "http://models.example/", "https://"])(
    "pulls over HTTP from no source that begins with %s",
    (start) => {
      const toml = `[models_folder]\npull_from = ["${start}"]`;
      expect(() => load({ toml })).toThrow("must be the beginning of a source");
    },
  );

  test("leaves the sizes of a model to the node where the model itself is, unless they are given", () => {
    const model = (source: string, more = "") =>
      load({ toml: `[[models]]\nname = "m"\ntype = "chat"\nsource = "${source}"\n${more}` })
        .models[0];
    const sizes = { ctx_size: "auto", batch_size: "auto", n_gpu_layers: "auto" };
    expect(model("auto")).toMatchObject(sizes);
    expect(model("auto", "ctx_size = 0")).toMatchObject({ ...sizes, ctx_size: 0 });
    const usual = { ctx_size: 0, batch_size: "auto", n_gpu_layers: "auto" };
    expect(model("./m.gguf")).toMatchObject(usual);
    expect(model("./m.gguf", "n_gpu_layers = 0")).toMatchObject({ ...usual, n_gpu_layers: 0 });
  });

  test("does not carry one node's models into the next", () => {
    load({}).models.pop();
    expect(load({}).models).toHaveLength(2);
  });
});

describe("a setting of the environment or the command line", () => {
  test("has a sample in this test", () => {
    expect(Object.keys(samples).sort()).toEqual(settings.map(({ env }) => env).sort());
  });

  test.each(settings)("is reached by its variable: $env", ({ env, path }) => {
    const [text, value] = samples[env] ?? ["", undefined];
    expect(load({})).not.toMatchObject(placed(path, value));
    expect(load({ env: { [env]: text } })).toMatchObject(placed(path, value));
  });

  test.each(settings.filter(({ flag }) => flag !== undefined))(
    "is reached by its option, over its variable: --$flag",
    ({ env, flag, path }) => {
      const [text, value] = samples[env] ?? ["", undefined];
      const config = load({ env: { [env]: "wrong" }, flags: { [String(flag)]: text } });
      expect(config).toMatchObject(placed(path, value));
    },
  );

  test("has an option unless a list of processes would show a secret", () => {
    const hidden = settings.filter(({ flag }) => flag === undefined).map(({ env }) => env);
    expect(hidden).toEqual([
      "PADDOCK_API_KEYS",
      "PADDOCK_VECTORSTORE_API_KEY",
      "PADDOCK_SHARED_REDIS",
      "PADDOCK_SHARED_PASSWORD",
    ]);
  });

  test("is left alone when it belongs to the process, the tests or somebody else", () => {
    const env = {
      PADDOCK_CONFIG: "x.toml",
      PADDOCK_KEY: "for-a-server",
      PADDOCK_TEST_MODELS: "y",
      PORT: "7",
      HOME: "/",
    };
    expect(load({ env })).toEqual(load({}));
  });
});

describe("the address of a Redis server", () => {
  const failure = (redis: string): string => {
    try {
      load({ env: { PADDOCK_SHARED_REDIS: redis } });
      return "none";
    } catch (error) {
      return String(error);
    }
  };

  test.each([
    "redis://127.0.0.1",
    "redis://[::1]:6379/0",
    "redis://:p%2Fss@redis.example.org:6379",
    "rediss://ada:secret@redis.example.org/15",
  ])("can be %s", (redis) => {
    expect(failure(redis)).toBe("none");
  });

  test.each([
    "http://:hunter2@127.0.0.1",
    "redis://:hunter2@",
    "redis://:hunter2@host:99999",
    "redis://:hunter2@host/name",
    "redis://:hunter2@host?password=hunter2",
    "hunter2",
  ])("cannot be something else, which is not shown: %s", (redis) => {
    expect(failure(redis)).toContain(
      "environment variable PADDOCK_SHARED_REDIS: 'shared.redis' must be a redis:// or rediss:// address such as 'redis://127.0.0.1:6379'; found another value (not shown).",
    );
    expect(failure(redis)).not.toContain("hunter2");
  });
});

describe("a configuration that cannot be used", () => {
  test.each<[string, Given, string]>([
    [
      "the file",
      { toml: 'port = "http"' },
      "paddock.toml: 'port' must be an integer from 0 to 65535; found 'http'.",
    ],
    [
      "the file",
      { toml: "[vectorstore]\nlimit = 0", env: { PADDOCK_PORT: "1" } },
      "paddock.toml: 'vectorstore.limit' must be an integer from 1 to 100; found 0.",
    ],
    [
      "the file",
      { toml: '[[models]]\nname = "m"\ntype = "chat"\nsource = "auto"\nctx_size = "big"' },
      "paddock.toml: 'models[0].ctx_size' must be an integer of at least 0 or 'auto'; found 'big'.",
    ],
    [
      "the variable",
      { toml: "port = 1", env: { PADDOCK_PORT: "70000" } },
      "environment variable PADDOCK_PORT: 'port' must be an integer from 0 to 65535; found 70000.",
    ],
    [
      "the option",
      { env: { PADDOCK_LOG_LEVEL: "info" }, flags: { "log-level": "loud" } },
      "option --log-level: 'log_level' must be 'debug' or 'info' or 'warn' or 'error'; found 'loud'.",
    ],
    [
      "the variable",
      { env: { PADDOCK_AUTH_OPEN: "yes" } },
      "environment variable PADDOCK_AUTH_OPEN: 'auth.open' must be true or false; found 'yes'.",
    ],
  ])("names %s, the key, what was found and what is allowed: %j", (_, given, message) => {
    expect(refusal(given)).toBe(message);
  });

  test.each<[Given, string]>([
    [{ toml: "prot = 1" }, "paddock.toml: unknown key 'prot'. Did you mean 'port'?"],
    [
      { toml: "[vectorstore]\ncolection_name = 'x'" },
      "paddock.toml: unknown key 'vectorstore.colection_name'. Did you mean 'collection_name'?",
    ],
    [
      { toml: "[engine]\nsomething_else = 1" },
      "paddock.toml: unknown key 'engine.something_else'. Known are: threads, isolation, heartbeat_timeout, step_timeout, native_steps, share_prefixes, memory_limit, gpu_libraries.",
    ],
    [
      { env: { PADDOCK_PROT: "1" } },
      "environment variable PADDOCK_PROT: Paddock has no such setting. Did you mean 'PADDOCK_PORT'?",
    ],
  ])("suggests what may have been meant: %j", (given, message) => {
    expect(refusal(given)).toBe(message);
  });

  test("is pointed at by line and column when it is not TOML", () => {
    expect(refusal({ toml: "port = 1\nhost = = 2" })).toMatch(
      /^paddock\.toml:2:\d+: not valid TOML: [^\n]+$/,
    );
  });
});

test("the secrets that a file holds itself are known by their names", () => {
  const secrets = (text: string) => secretsIn({ path: "paddock.toml", text });
  expect(
    secrets('port = 1\n[auth]\nopen = true\napi_keys = []\n[shared]\nredis = "redis://a:1"'),
  ).toEqual([]);
  expect(secrets('[auth]\napi_keys = ["a-long-secret"]\n[vectorstore]\napi_key = "b"')).toEqual([
    "auth.api_keys",
    "vectorstore.api_key",
  ]);
  expect(secrets('[shared]\nredis = "redis://:word@a:1"\npassword = "c"')).toEqual([
    "shared.redis",
    "shared.password",
  ]);
});
