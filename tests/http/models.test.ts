import { describe, expect, test } from "bun:test";
import { NodeError } from "../../src/core/errors.ts";
import type { KeyRing, Scope } from "../../src/core/limits/api-key.ts";
import type { Residence } from "../../src/core/models/model.ts";
import type { ModelLibrary } from "../../src/core/models/model-library.ts";
import { readFrames } from "../support/sse.ts";
import { testApp } from "../support/test-app.ts";
import { chatModel, madeAt } from "../support/test-models.ts";

const entry = (id: string) => ({
  id,
  type: id === "chatty" ? "chat" : "embedding",
  loaded: true,
  capabilities: id === "chatty" ? ["tools"] : ["embedding"],
  unloadable: false,
  removable: false,
  created: madeAt.getTime() / 1000,
  object: "model",
  owned_by: "tester",
  max_model_len: 128,
  context_length: 128,
});

describe("the list of models", () => {
  const memory = { total: 8e9, free: 4e9 };
  const list = {
    object: "list",
    data: ["chatty", "vectors", "others"].map(entry),
    manageable: true,
    memory,
  };

  test("has the specification's fields and the context, for POST without a body", async () => {
    const request = new Request("http://localhost/v1/models", { method: "POST" });
    const response = await testApp().handle(request);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toEqual(list);
  });

  test("is the same for GET", async () => {
    expect(await (await testApp().get("/v1/models")).json()).toEqual(list);
  });

  test.each(["", "{}", "not json"])("reads no body: '%s'", async (body) => {
    const response = await testApp().post("/v1/models", body);
    expect([response.status, await response.json()]).toEqual([200, list]);
  });

  test("names a parameter of the address that is not acted on", async () => {
    const response = await testApp().get("/v1/models?limit=1&after_id=chatty");
    expect(response.headers.get("x-paddock-ignored")).toBe("limit, after_id");
  });

  test("is empty until a model is ready", async () => {
    const response = await testApp({ unprepared: true }).get("/v1/models");
    expect(await response.json()).toEqual({ object: "list", data: [], manageable: true, memory });
  });
});

describe("one model", () => {
  test.each(["chatty", "vectors"])("is found by its name: %s", async (name) => {
    const response = await testApp().get(`/v1/models/${name}`);
    expect([response.status, await response.json()]).toEqual([200, entry(name)]);
  });

  test.each(["owner/model:Q4", "100% real", "50%2Foff", "größe", "a+b c"])(
    "is found by a name that an address must encode: %s",
    async (name) => {
      const response = await testApp({ moreModels: [name] }).get(
        `/v1/models/${encodeURIComponent(name)}`,
      );
      expect([response.status, await response.json()]).toEqual([200, entry(name)]);
    },
  );

  test.each([
    ["nobody", "nobody"],
    ["owner%2Fnobody", "owner/nobody"],
  ])(
    "that is not there is a 404 model_not_found with the names there are: %s",
    async (id, name) => {
      const response = await testApp().get(`/v1/models/${id}`);
      expect(response.status).toBe(404);
      expect(response.headers.get("x-should-retry")).toBe("false");
      expect(await response.json()).toEqual({
        error: {
          message: `The model '${name}' is not on this node. Its models are: chatty, vectors, others.`,
          type: "invalid_request_error",
          param: "model",
          code: "model_not_found",
        },
      });
    },
  );

  test("is never taken for another because its address is badly encoded", async () => {
    const response = await testApp().get("/v1/models/%ZZ");
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.json()).toEqual({
      error: {
        message: expect.not.stringContaining("null"),
        type: "invalid_request_error",
        param: expect.any(String),
        code: expect.anything(),
      },
    });
  });

  test("that is not ready is a 503", async () => {
    const response = await testApp({ unprepared: true }).get("/v1/models/chatty");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "model_not_ready" } });
  });
});

describe("a model that can be unloaded", () => {
  const appWith = (residence: Residence, done: string[] = []) => {
    const app = testApp({ library: { mayRemove: (name) => name === "chatty" } });
    app.models.add({
      ...chatModel("chatty", app.chat),
      residence: () => residence,
      load: async () => void done.push("load"),
      unload: async () => void done.push("unload"),
    });
    return app;
  };

  test.each<[Residence, object]>([
    [
      { state: "loaded", bytes: 7, lastUsedAt: madeAt, unloadsAt: madeAt },
      { loaded: true, memory_bytes: 7, last_used: 1793534400, unloads_at: 1793534400 },
    ],
    [{ state: "loading" }, { loaded: false, loading: true }],
    [
      { state: "unloaded", error: "The model file '/srv/m.gguf' cannot be read." },
      { loaded: false, error: expect.not.stringContaining("/srv") },
    ],
  ])("is listed with its state: %j", async (residence, expected) => {
    const response = await appWith(residence).get("/v1/models/chatty");
    expect(await response.json()).toMatchObject({ unloadable: true, removable: true, ...expected });
  });

  test("is loaded and unloaded when asked to", async () => {
    const done: string[] = [];
    const app = appWith({ state: "unloaded" }, done);
    for (const what of ["load", "unload"]) {
      const response = await app.post(`/v1/models/${what}`, { model: "chatty" });
      expect([response.status, await response.json()]).toMatchObject([200, { id: "chatty" }]);
    }
    expect(done).toEqual(["load", "unload"]);
    const other = await app.post("/v1/models/unload", { model: "vectors" });
    expect(other.status).toBe(400);
    const missing = await app.post("/v1/models/load", { model: "nobody" });
    expect(missing.status).toBe(404);
  });

  test("tells its memory and failures only to callers with a key, on a node with keys", async () => {
    const app = testApp({ keys: ["a-good-key"] });
    const residence: Residence = { state: "loaded", bytes: 7, error: "why" };
    app.models.add({ ...chatModel("chatty", app.chat), residence: () => residence });
    const of = async (headers = {}): Promise<unknown> =>
      await (await app.get("/v1/models", headers)).json();
    expect(await of()).toEqual({ object: "list", data: expect.any(Array), manageable: false });
    expect(JSON.stringify(await of())).not.toContain("memory_bytes");
    const known = await of({ authorization: "Bearer a-good-key" });
    expect(known).toMatchObject({ memory: { total: 8e9 }, data: [{ memory_bytes: 7 }, {}, {}] });
  });
});

describe("a pull", () => {
  const source = "hf:owner/repo:Q4";
  const state = { source, label: "Downloading", completed: 5, total: 10 };

  const begun =
    (end: Promise<string>): ModelLibrary["pull"] =>
    async (_, { onBegin }) => {
      onBegin?.(state);
      return await end;
    };

  test("sends its progress and the name that requests use", async () => {
    const pulled = Promise.withResolvers<string>();
    const app = testApp({ library: { pull: begun(pulled.promise), pulling: () => state } });
    const response = await app.post("/v1/models/pull", { source });
    expect(await (await app.get("/v1/models")).json()).toMatchObject({ pulling: state });
    pulled.resolve("repo-Q4");
    expect(await readFrames(response)).toEqual([
      JSON.stringify({ status: "pulling", ...state }),
      JSON.stringify({ status: "success", model: "repo-Q4" }),
      "[DONE]",
    ]);
  });

  test("is one JSON body where nothing is to be streamed", async () => {
    const app = testApp({ library: { pull: async () => "repo-Q4" } });
    const response = await app.post("/v1/models/pull", { source, stream: false });
    expect(await response.json()).toEqual({ status: "success", model: "repo-Q4" });
  });

  test("ends with its client, and when it is cancelled", async () => {
    const aborted = Promise.withResolvers<void>();
    let cancelled = 0;
    const app = testApp({
      library: {
        pull: async (_, { signal, onBegin }) => {
          onBegin?.(state);
          signal.addEventListener("abort", () => aborted.resolve());
          return await new Promise<never>((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          });
        },
        cancelPull: () => ++cancelled === 1,
      },
    });
    const { body } = await app.post("/v1/models/pull", { source });
    await body?.cancel();
    await aborted.promise;
    for (const expected of [true, false]) {
      const response = await app.post("/v1/models/pull/cancel", undefined);
      expect(await response.json()).toEqual({ cancelled: expected });
    }
  });

  test("that fails before it begins has a status of its own", async () => {
    const busy = new NodeError("overloaded", "Another is being pulled.");
    const app = testApp({ library: { pull: async () => await Promise.reject(busy) } });
    expect((await app.post("/v1/models/pull", { source })).status).toBe(503);
    expect((await app.post("/v1/models/pull", { source: "" })).status).toBe(400);
  });
});

/** One key, of that scope. */
const ringOf = (scope: Scope): KeyRing => {
  const key = { id: "k", name: "k", scopes: [scope], limits: {}, quota: {}, createdAt: madeAt };
  return { hasKeys: () => true, find: () => key, byId: () => key };
};

describe("a node that serves everyone", () => {
  test("has its models managed on its machine only", async () => {
    const app = testApp({ open: true });
    const asked = { model: "chatty", source: "hf:a/b", keep_alive: 0 };
    for (const path of ["/v1/models/load", "/v1/models/pull", "/api/pull", "/api/generate"]) {
      const response = await app.post(path, asked);
      expect([path, response.status]).toEqual([path, 403]);
      expect(await response.text()).toContain("on its machine");
    }
    expect(await (await app.get("/v1/models")).json()).toMatchObject({ manageable: false });
    // With keys, only their holders are served.
    const keyed = testApp({ open: true, keys: ["a-good-key"] });
    const headers = { authorization: "Bearer a-good-key" };
    expect((await keyed.post("/v1/models/load", asked, headers)).status).toBe(200);
  });
});

describe("a key", () => {
  test("manages models only with that scope", async () => {
    const app = testApp({ ring: ringOf("chat") });
    const headers = { authorization: "Bearer the-key" };
    const asked = { model: "chatty", source: "hf:a/b" };
    for (const path of ["load", "unload", "pull", "pull/cancel"]) {
      const response = await app.post(`/v1/models/${path}`, asked, headers);
      expect([path, response.status]).toEqual([path, 403]);
    }
    const listed = await app.get("/v1/models", headers);
    expect(await listed.json()).toMatchObject({ manageable: false });
    const allowed = testApp({ ring: ringOf("models") });
    const list = await allowed.get("/v1/models", headers);
    expect(await list.json()).toMatchObject({ manageable: true, memory: { total: 8e9 } });
    expect((await allowed.post("/v1/models/load", asked, headers)).status).toBe(200);
  });
});
