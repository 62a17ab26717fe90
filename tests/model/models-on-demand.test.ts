import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { noteOrigin } from "../../src/models/models-folder.ts";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { Model, ModelList } from "../../src/server/operations/models/schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { readFrames } from "../support/sse.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";
import { listeningNode, type TinyNode, tinyEmbeddingConfig } from "../support/tiny-node.ts";
import { waitFor } from "../support/wait-for.ts";

/** Megabytes: two of the tiny chat models, which are estimated at 6 each, and the embedding model. */
const memoryForTwo = 15;

let resources: AsyncDisposableStack;
let folder: string;
let node: TinyNode;

const names = ["one", "two", "three", "four", "five"];

beforeAll(async () => {
  resources = new AsyncDisposableStack();
  const dataDir = resources.use(await tempDir()).path;
  folder = join(dataDir, "models");
  await mkdir(folder);
  const { chat } = await tinyModels();
  for (const name of names) await copyFile(chat, join(folder, `${name}.gguf`));
  await writeFile(join(folder, "broken.gguf"), "GGUF and nothing else");
  const toml = `[models_folder]\nserve = "all"\n${await tinyEmbeddingConfig()}`.replace(
    "[engine]",
    `[engine]\nmemory_limit = ${memoryForTwo}`,
  );
  node = resources.use(
    await listeningNode(toml, { PADDOCK_DATA_DIR: dataDir, PADDOCK_ISOLATION: "process" }),
  );
});
afterAll(() => resources.disposeAsync());

const send = (method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${node.baseUrl}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const chat = (model: string, more: object = {}): Promise<Response> =>
  send("POST", "/chat/completions", {
    ...{ model, messages: [{ role: "user", content: "Hi" }], max_tokens: 3, ...more },
  });

const list = async (): Promise<ModelList> => await decode(ModelList, await send("GET", "/models"));

const loaded = async (): Promise<string[]> =>
  (await list()).data
    .flatMap(({ id, type, loaded }) => (type === "chat" && loaded ? id : []))
    .sort();

describe("models of the models folder", () => {
  test("are listed with what their files say, beside the configured ones, and not loaded", async () => {
    const { data } = await list();
    expect(data.map(({ id }) => id).sort()).toEqual([...names, "tiny-embedding"].sort());
    expect(data.find(({ id }) => id === "one")).toMatchObject({
      ...{ type: "chat", loaded: false, context_length: 4096, quantization: "F32" },
      ...{ parameters: 43_680, capabilities: ["tools"], removable: false },
    });
  });

  test("are loaded by their first request, once for all that ask", async () => {
    const answers = await Promise.all([chat("one"), chat("one"), chat("one", { stream: true })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [whole, , streamed] = answers;
    if (whole === undefined || streamed === undefined) throw new Error("no answer");
    const { system_fingerprint: fingerprint } = await decode(ChatCompletion, whole);
    expect((await readFrames(streamed))[0]).toContain(fingerprint);
    expect(await loaded()).toEqual(["one"]);
    const described = await decode(Model, await send("GET", "/models/one"));
    expect(described.unloads_at).toBeGreaterThan(described.last_used ?? 0);
  });

  test("make room for others, the least recently used first, and come back", async () => {
    await chat("two");
    expect(await loaded()).toEqual(["one", "two"]);
    await chat("three");
    expect(await loaded()).toEqual(["three", "two"]);
    expect((await chat("one")).status).toBe(200);
    expect(await loaded()).toEqual(["one", "three"]);
  });

  test("are loaded and unloaded by request", async () => {
    const load = await decode(Model, await send("POST", "/models/load", { model: "one" }));
    expect(load.loaded).toBe(true);
    const unload = await decode(Model, await send("POST", "/models/unload", { model: "one" }));
    expect(unload.loaded).toBe(false);
    const again = await decode(Model, await send("POST", "/models/load", { model: "one" }));
    expect(again.loaded).toBe(true);
  });

  test("answer all of 50 clients of 5 models with memory for 2", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, client) => {
        const response = await chat(names[client % names.length] ?? "");
        return { status: response.status, model: (await decode(ChatCompletion, response)).model };
      }),
    );
    const counts = Map.groupBy(answers, ({ status, model }) => `${status} ${model}`);
    expect([...counts].map(([what, all]) => [what, all.length]).sort()).toEqual(
      names.map((name) => [`200 ${name}`, 10]).sort(),
    );
  });

  test("get their turn while others are asked without a pause", async () => {
    const stop = new AbortController();
    const answered = new Map<string, number>();
    const ask = async (model: string): Promise<void> => {
      while (!stop.signal.aborted) {
        expect((await chat(model)).status).toBe(200);
        answered.set(model, (answered.get(model) ?? 0) + 1);
      }
    };
    const busy = ["one", "two", "one", "two"].map(ask);
    await waitFor("both to be asked", () => answered.size === 2);
    expect((await chat("three")).status).toBe(200);
    const before = new Map(answered);
    await waitFor("both to be answered again", () =>
      ["one", "two"].every((name) => (answered.get(name) ?? 0) > (before.get(name) ?? 0)),
    );
    stop.abort();
    await Promise.all(busy);
  });

  test("that are put there while the node runs are served at once, and not once they are gone", async () => {
    const { thinker } = await tinyModels();
    const path = join(folder, "hf_owner_repo_new.gguf");
    await copyFile(thinker, path);
    await noteOrigin(path, "hf:owner/repo:Q8_0");
    expect((await chat("repo-Q8_0")).status).toBe(200);
    const described = await decode(Model, await send("GET", "/models/repo-Q8_0"));
    expect(described).toMatchObject({ removable: true, capabilities: ["tools", "thinking"] });
    await rm(path);
    expect((await list()).data.map(({ id }) => id)).not.toContain("repo-Q8_0");
    expect((await send("GET", "/models/repo-Q8_0")).status).toBe(404);
    expect((await decodeError(await chat("repo-Q8_0"))).code).toBe("model_not_found");
  });

  test.each(["by another file of its name", "in place"])(
    "that are replaced %s while they are not loaded are served as they are now",
    async (how) => {
      const { chat: before, thinker } = await tinyModels();
      const path = join(folder, "renewed.gguf");
      await copyFile(before, path);
      expect((await chat("renewed")).status).toBe(200);
      // Past the time in which every change is looked for.
      await Bun.sleep(1100);
      await list();
      await send("POST", "/models/unload", { model: "renewed" });
      if (how === "in place") await writeFile(path, await Bun.file(thinker).bytes());
      else {
        await copyFile(thinker, join(folder, "renewed.new"));
        await rename(join(folder, "renewed.new"), path);
      }
      await waitFor("an answer", async () => (await chat("renewed")).status === 200);
      const described = await decode(Model, await send("GET", "/models/renewed"));
      expect(described.capabilities).toContain("thinking");
      await rm(path);
      await list();
    },
  );

  test("are removed if the node pulled them, and otherwise not", async () => {
    const path = join(folder, "hf_owner_repo_pulled.gguf");
    await copyFile((await tinyModels()).chat, path);
    await noteOrigin(path, "hf:owner/repo:Q4_0");
    expect((await chat("repo-Q4_0")).status).toBe(200);
    const removed = await send("DELETE", "/models/repo-Q4_0");
    expect(await removed.json()).toEqual({ id: "repo-Q4_0", object: "model", deleted: true });
    expect(await Bun.file(path).exists()).toBe(false);
    for (const [name, why] of [
      ["one", "was not pulled by Paddock"],
      ["tiny-embedding", "belongs to the node's configuration"],
    ] as const) {
      const refused = await send("DELETE", `/models/${name}`);
      expect([refused.status, (await decodeError(refused)).message]).toEqual([
        400,
        expect.stringContaining(why),
      ]);
    }
    expect(await Bun.file(join(folder, "one.gguf")).exists()).toBe(true);
    expect((await send("DELETE", "/models/nobody")).status).toBe(404);
  });

  test("that do not fit, or cannot be loaded, say why, and stop no other", async () => {
    const { chat: file } = await tinyModels();
    const bytes = await Bun.file(file).bytes();
    // Its header is whole, and its weights are not.
    await writeFile(join(folder, "cut.gguf"), bytes.subarray(0, bytes.length - 60_000));
    await writeFile(join(folder, "large.gguf"), Buffer.concat([bytes, Buffer.alloc(20_000_000)]));
    for (const [name, why] of [
      ["cut", "The model 'cut' cannot be loaded"],
      ["large", "needs about"],
    ] as const) {
      const refused = await chat(name);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await decodeError(refused)).message).toContain(why);
      const described = await decode(Model, await send("GET", `/models/${name}`));
      expect(described).toMatchObject({ loaded: false, error: expect.stringContaining(why) });
    }
    expect((await chat("one")).status).toBe(200);
    expect((await fetch(new URL("/ready", node.baseUrl))).status).toBe(200);
  });
});
