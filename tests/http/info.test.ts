import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { ModelType } from "../../src/core/models/model.ts";
import { NodeInfo } from "../../src/server/operations/node/schema.ts";
import { decode } from "../support/decode.ts";
import { testApp } from "../support/test-app.ts";
import { card, chatModel } from "../support/test-models.ts";

const model = (name: string, type: ModelType) => ({
  name,
  type,
  prompt_template: "auto",
  n_predict: -1,
  n_gpu_layers: 0,
  ctx_size: 128,
  batch_size: 64,
  temperature: 0.7,
  top_p: 0.9,
  min_p: 0.08,
  repeat_penalty: 1.1,
  presence_penalty: 0.2,
  frequency_penalty: 0.3,
  repeat_last_n: -1,
  dry_multiplier: 0,
  dry_base: 1.75,
  dry_allowed_length: 2,
});

const info = {
  version: "1.2.3",
  plugin_version: "llama.cpp v9 (test)",
  port: "4321",
  models: [model("chatty", "chat"), model("vectors", "embedding"), model("others", "embedding")],
  vectorstore_config: {
    url: "embedded",
    collection_name: "default",
    limit: 5,
    score_threshold: 0.4,
  },
};

describe("node information", () => {
  test("has exactly the specification's fields, and more of a model's sampling, for POST without a body", async () => {
    const request = new Request("http://localhost/v1/info", { method: "POST" });
    const response = await testApp().handle(request);
    const found = await response.json();
    expect(response.status).toBe(200);
    expect(Value.Check(NodeInfo, found)).toBe(true);
    expect(found).toEqual(info);
  });

  test("is the same for GET, and for POST with a body that nobody reads", async () => {
    expect(await (await testApp().get("/v1/info")).json()).toEqual(info);
    expect(await (await testApp().post("/v1/info", "not json")).json()).toEqual(info);
  });

  test("is given while the models are being prepared", async () => {
    const response = await testApp({ unprepared: true }).get("/v1/info");
    expect([response.status, await response.json()]).toEqual([200, { ...info, models: [] }]);
  });

  test("reports how a local chat model's context is made, without the folders of its adapters", async () => {
    const app = testApp();
    const known = card("chatty", "chat");
    const lora = [{ path: "/srv/adapters/tone.gguf", scale: 0.5 }];
    known.settings.context = { cacheTypeK: "q8_0", cacheTypeV: "f16", flashAttention: "on", lora };
    app.models.add(chatModel("chatty", app.chat, known));
    const { models } = await decode(NodeInfo, await app.get("/v1/info"));
    expect(models.find(({ name }) => name === "chatty")).toEqual({
      ...model("chatty", "chat"),
      cache_type_k: "q8_0",
      cache_type_v: "f16",
      flash_attention: "on",
      lora: [{ path: "tone.gguf", scale: 0.5 }],
    });
  });

  test("says what would be better than a weak model, to a caller with a key where keys are wanted", async () => {
    const advice = "It is small: paddock pull a-better-one";
    const app = testApp({ advice, keys: ["a-good-key"] });
    const adviceFor = async (headers: Record<string, string>, asked = app) =>
      (await decode(NodeInfo, await asked.get("/v1/info", headers))).models.map(
        (one) => one.advice,
      );
    expect(await adviceFor({})).toEqual([undefined, undefined, undefined]);
    const [ofChat, ...others] = await adviceFor({ authorization: "Bearer a-good-key" });
    expect([ofChat, others]).toEqual([advice, [undefined, undefined]]);
    expect((await adviceFor({}, testApp({ advice })))[0]).toBe(advice);
  });

  test("shows the store's address to a caller with a key only, where keys are wanted", async () => {
    const storeUrl = "http://qdrant.internal:6333";
    const app = testApp({ storeUrl, keys: ["a-good-key"] });
    const urlFor = async (headers: Record<string, string>, asked = app) =>
      (await decode(NodeInfo, await asked.get("/v1/info", headers))).vectorstore_config.url;
    expect(await urlFor({})).toBe("hidden");
    expect(await urlFor({ authorization: "Bearer another-key" })).toBe("hidden");
    expect(await urlFor({ authorization: "Bearer a-good-key" })).toBe(storeUrl);
    expect(await urlFor({}, testApp({ storeUrl }))).toBe(storeUrl);
  });
});
