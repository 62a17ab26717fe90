/** The calls of Ollama's own program, in its order, and whether what it decodes is of Go's types. */
import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { type TestAppOptions, testApp } from "../support/test-app.ts";
import { card, chatModel, embeddingModel } from "../support/test-models.ts";

/** A type of Go's JSON decoder; a field that is missing or null stays empty, one of another type is an error. */
type GoType = "string" | "bool" | "int" | "float" | "time" | "any" | [GoType] | GoStruct;
interface GoStruct {
  [field: string]: GoType;
}

const fits: Record<Extract<GoType, string>, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  bool: (value) => typeof value === "boolean",
  int: (value) => Number.isSafeInteger(value),
  float: (value) => typeof value === "number",
  time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(`${value}`),
  any: () => true,
};

/** The places that Go's decoder would stop at. */
function wrong(value: unknown, type: GoType, at = ""): string[] {
  if (value === undefined || value === null) return [];
  if (typeof type === "string") return fits[type](value) ? [] : [at];
  if (Array.isArray(type)) {
    if (!Array.isArray(value)) return [at];
    return value.flatMap((each, index) => wrong(each, type[0], `${at}[${index}]`));
  }
  if (typeof value !== "object" || Array.isArray(value)) return [at];
  return Object.entries(type).flatMap(([field, inner]) =>
    wrong(Object(value)[field], inner, `${at}.${field}`),
  );
}

const details: GoStruct = {
  ...{ parent_model: "string", format: "string", family: "string", families: ["string"] },
  ...{ parameter_size: "string", quantization_level: "string" },
};
const listed: GoStruct = {
  ...{ name: "string", model: "string", size: "int", digest: "string", details },
  ...{ remote_model: "string", remote_host: "string" },
};
const message: GoStruct = {
  ...{ role: "string", content: "string", thinking: "string", images: ["string"] },
  tool_calls: [{ id: "string", function: { index: "int", name: "string" } }],
};
const metrics: GoStruct = {
  ...{ total_duration: "int", load_duration: "int", prompt_eval_count: "int" },
  ...{ prompt_eval_duration: "int", eval_count: "int", eval_duration: "int" },
};
const answer: GoStruct = {
  ...{ model: "string", created_at: "time", done: "bool", done_reason: "string", ...metrics },
  ...{ error: "string", remote_model: "string", remote_host: "string" },
};
const go = {
  list: { models: [{ ...listed, modified_at: "time" }] },
  ps: {
    models: [{ ...listed, expires_at: "time", size_vram: "int", context_length: "int" }],
  },
  show: {
    ...{ license: "string", modelfile: "string", parameters: "string", template: "string" },
    ...{ system: "string", details, messages: [message], remote_host: "string" },
    ...{ capabilities: ["string"], modified_at: "time", tensors: ["any"] },
  },
  chat: { ...answer, message },
  generate: { ...answer, response: "string", thinking: "string", context: ["int"] },
  embed: { model: "string", embeddings: [["float"]], ...metrics },
  progress: { status: "string", digest: "string", total: "int", completed: "int", error: "string" },
  version: { version: "string" },
} satisfies Record<string, GoStruct>;

/** What its requests have besides what a user says. */
const showRequest = { model: "", system: "", template: "", verbose: false, options: null };
const pullRequest = { model: "", username: "", password: "" };
const generateRequest = { prompt: "", suffix: "", system: "", template: "", options: null };

function programOn(options: TestAppOptions = {}) {
  const app = testApp({ looksLikeOllama: true, ...options });
  const send = async (method: string, path: string, body?: object, isStream = false) =>
    await app.handle(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          accept: isStream ? "application/x-ndjson" : "application/json",
          "user-agent": "ollama/0.13.0 (amd64 linux) Go/go1.24.1",
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  /** Reads whole answers and lines alike, as the program's decoder does. */
  const decoded = async (type: GoStruct, answered: Promise<Response>) => {
    const response = await answered;
    const lines = (await response.text()).split("\n").filter((line) => line !== "");
    const values = lines.map((line) => Object(JSON.parse(line)));
    expect([response.status, ...values.flatMap((value) => wrong(value, type))]).toEqual([200]);
    return values;
  };
  const show = (name: string) => send("POST", "/api/show", { ...showRequest, name });
  const generate = (model: string, more: object = {}) =>
    decoded(
      go.generate,
      send("POST", "/api/generate", { model, ...generateRequest, ...more }, true),
    );
  return { app, send, decoded, show, generate };
}

/** With weights, half of which are on an accelerator. */
function onAccelerator(app: ReturnType<typeof testApp>, bytes: number): void {
  const own = card("chatty", "chat");
  const weights = { architecture: "llama", parameters: 7e9, quantization: "Q4_0", bytes: 4e9 };
  own.weights = { ...weights, layers: 32, embeddingLength: 4096 };
  own.settings.nGpuLayers = 32;
  const residence = () => ({ state: "loaded", bytes }) as const;
  app.models.add({ ...chatModel("chatty", app.chat, own), residence });
}

describe("Ollama's own program", () => {
  test("finds the node, and its version", async () => {
    const { send, decoded } = programOn();
    const { status } = await send("HEAD", "/");
    expect(status).toBe(200);
    await decoded(go.version, send("GET", "/api/version"));
  });

  test("lists models, and cuts the digest to show it", async () => {
    const { send, decoded } = programOn();
    const [list] = await decoded(go.list, send("GET", "/api/tags"));
    expect(list.models.map(({ name }: { name: string }) => name)).toEqual([
      "chatty:latest",
      "vectors:latest",
      "others:latest",
    ]);
    for (const { digest } of list.models) expect(digest.length).toBeGreaterThanOrEqual(12);
  });

  test("lists loaded models, and tells how much of each is on an accelerator", async () => {
    const { app, send, decoded } = programOn();
    onAccelerator(app, 1e9);
    const [running] = await decoded(go.ps, send("GET", "/api/ps"));
    const [chatty] = running.models;
    expect(chatty).toMatchObject({ size: 5e9, size_vram: 4e9 });
    expect(Date.parse(chatty.expires_at)).toBeGreaterThan(Date.now());
  });

  test.each(["chatty", "vectors:latest"])(
    "shows %s with numbers that it takes for granted",
    async (name) => {
      const { decoded, show } = programOn();
      const [shown] = await decoded(go.show, show(name));
      const family = shown.model_info["general.architecture"];
      expect(family).toBeString();
      const numbers = ["general.parameter_count", `${family}.context_length`];
      for (const key of [...numbers, `${family}.embedding_length`]) {
        expect(shown.model_info[key]).toBeNumber();
      }
    },
  );

  test("runs a model: shows it, loads it, then chats", async () => {
    const { app, send, decoded, show, generate } = programOn();
    const [shown] = await decoded(go.show, show("chatty"));
    expect(shown.capabilities).toContain("completion");
    expect(await generate("chatty")).toMatchObject([{ done: true, done_reason: "load" }]);
    app.chat.script({ type: "text", text: "Hi." }, finish).script(finish);
    const messages = [{ role: "user", content: "Hello" }];
    const lines = await decoded(
      go.chat,
      send("POST", "/api/chat", { model: "chatty", messages, options: {} }, true),
    );
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: "stop" });
    // As with a prompt on the command line.
    const [said] = await generate("chatty", { prompt: "Hello", context: [], options: {} });
    expect(said).toMatchObject({ done: true });
  });

  test("runs an embedding model on a text", async () => {
    const { send, decoded } = programOn();
    const request = { model: "vectors", input: "a text", options: null };
    const [embedded] = await decoded(go.embed, send("POST", "/api/embed", request));
    expect(embedded.embeddings).toHaveLength(1);
  });

  test("runs a place on the hub: pulls what is not there, and shows it by the same name", async () => {
    let isThere = false;
    const asked: string[] = [];
    const { send, decoded, show, generate } = programOn({
      library: {
        pull: async (source, { onBegin }) => {
          isThere = true;
          onBegin?.({ source, label: "Downloading", completed: 5, total: 10 });
          return "chatty";
        },
        pulledFrom: async (source) => {
          asked.push(source);
          return isThere ? "chatty" : undefined;
        },
      },
    });
    expect((await show("hf.co/o/r")).status).toBe(404);
    const lines = await decoded(
      go.progress,
      send("POST", "/api/pull", { ...pullRequest, name: "hf.co/o/r" }, true),
    );
    expect(lines.at(-1)).toEqual({ status: "success" });
    // It shows 12 characters of each digest, from the eighth on.
    const digests = lines.flatMap(({ digest }) => digest ?? []);
    expect(digests).toEqual([expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
    await decoded(go.show, show("hf.co/o/r"));
    await generate("hf.co/o/r:latest");
    expect(new Set(asked)).toEqual(new Set(["hf:o/r"]));
  });

  test.each(["chatty", "vectors"])("removes %s: unloads it, then deletes it", async (name) => {
    const done: string[] = [];
    const { app, send, show, generate } = programOn({
      library: {
        remove: async (removed) => {
          done.push(`removed ${removed}`);
          return 1;
        },
      },
    });
    const unload = async (): Promise<void> => void done.push("unloaded");
    app.models.add(
      name === "chatty"
        ? { ...chatModel(name, app.chat), unload }
        : { ...embeddingModel(name, app.embedding), unload },
    );
    expect((await show(name)).status).toBe(200);
    expect(await generate(name, { keep_alive: "0s" })).toMatchObject([{ done_reason: "unload" }]);
    expect((await send("DELETE", "/api/delete", { model: "", name })).status).toBe(200);
    expect(done).toEqual(["unloaded", `removed ${name}`]);
  });
});
