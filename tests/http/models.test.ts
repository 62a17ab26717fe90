import { describe, expect, test } from "bun:test";
import { testApp } from "../support/test-app.ts";
import { madeAt } from "../support/test-models.ts";

const entry = (id: string) => ({
  id,
  type: id === "chatty" ? "chat" : "embedding",
  loaded: true,
  capabilities: id === "chatty" ? ["tools"] : ["embedding"],
  removable: false,
  created: madeAt.getTime() / 1000,
  object: "model",
  owned_by: "tester",
  max_model_len: 128,
  context_length: 128,
});

describe("the list of models", () => {
  const memory = { total: 8e9, free: 4e9 };
  const list = { object: "list", data: ["chatty", "vectors", "others"].map(entry), memory };

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

  test("is empty until a model is ready", async () => {
    const response = await testApp({ unprepared: true }).get("/v1/models");
    expect(await response.json()).toEqual({ object: "list", data: [], memory });
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
