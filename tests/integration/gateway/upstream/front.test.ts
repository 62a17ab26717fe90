import { describe, expect, test } from "bun:test";
import { freePort } from "../../../support/free-port.ts";
import { front, frontKey as key, frontModel as model } from "../../../support/front-of-servers.ts";
import {
  endlessStream,
  frame,
  modelList,
  openAiServer,
  streamOf,
} from "../../../support/openai-server.ts";
import { recordedVllm, vllmModel } from "../../../support/recorded-vllm.ts";
import { rejectionOf } from "../../../support/rejection.ts";
import { readEvents } from "../../../support/response-events.ts";
import { readFrames } from "../../../support/sse.ts";
import { waitFor } from "../../../support/wait-for.ts";

const chat = { model: "far-chat", messages: [{ role: "user", content: "The capital?" }] };

describe("a node in front of a server", () => {
  test("answers with what it says, and tells which models run where", async () => {
    await using server = recordedVllm({ key });
    await using node = await front(model("chat", server.url) + model("embedding", server.url));
    await node.prepare();
    expect(await node.ready()).toMatchObject({ status: "ready" });
    expect(await (await node.ask("/v1/chat/completions", chat)).json()).toMatchObject({
      model: "far-chat",
      choices: [{ message: { content: "Paris." }, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 23,
        completion_tokens: 3,
        prompt_tokens_details: { cached_tokens: 16 },
      },
    });
    expect(await (await node.ask("/v1/info")).json()).toMatchObject({
      plugin_version: "none: models run upstream",
      models: [
        {
          name: "far-chat",
          ctx_size: 40_960,
          upstream: {
            model: vllmModel,
            server: "vLLM 0.11.0",
            tokens: "counted",
            urls: [`${server.url}/v1`],
          },
        },
        { name: "far-embedding", type: "embedding" },
      ],
    });
    const metrics = await (await node.ask("/metrics")).text();
    expect(metrics).toContain(
      'paddock_model_info{model="far-chat",type="chat",place="upstream"} 1',
    );
    expect(metrics).not.toContain("paddock_runner_restarts_total{");
    expect(JSON.stringify(node.lines)).not.toContain(key);
  });

  test("hides where models run from strangers, where keys are wanted", async () => {
    await using server = recordedVllm({ key });
    const toml = `[auth]\napi_keys = ["a-key-of-the-front"]\n${model("chat", server.url)}`;
    await using node = await front(toml);
    await node.prepare();
    const infoFor = async (headers: Record<string, string>) =>
      Object(await (await node.ask("/v1/info", undefined, { headers })).json()).models[0].upstream
        .urls;
    expect(await infoFor({})).toEqual(["hidden"]);
    expect(await infoFor({ authorization: "Bearer a-key-of-the-front" })).toEqual([
      `${server.url}/v1`,
    ]);
  });

  test("grounds its chats in passages that were embedded there", async () => {
    await using server = recordedVllm({ key });
    const toml = `[rag]\nscore_threshold = -1\n${model("chat", server.url)}${model("embedding", server.url)}`;
    await using node = await front(toml, { page: "# France\n\nParis is the capital of France.\n" });
    await node.prepare();
    await waitFor("the page to be stored", async () => {
      const { status, reasons } = await node.ready();
      return status === "ready" && reasons.length === 0;
    });
    const answer = await (await node.ask("/v1/chat/completions", { ...chat, rag: true })).json();
    expect(answer).toMatchObject({
      retrieval: {
        points: [{ source: expect.stringContaining("Paris is the capital") }],
        dropped: 0,
      },
    });
    const asked = server.asked.findLast(({ path }) => path === "/v1/chat/completions");
    expect(JSON.stringify(asked?.body)).toContain("Paris is the capital");
  });

  test("has its passages ranked there, and says where that fails", async () => {
    let isAway = false;
    await using server = recordedVllm({
      key,
      instead: ({ path }) =>
        isAway && path === "/v1/rerank" ? new Response("no", { status: 500 }) : undefined,
    });
    const ranking = '[retrieval]\nreranker = "far-reranker"\n';
    const models = model("embedding", server.url) + model("reranker", server.url);
    const toml = `[vectorstore]\nscore_threshold = -1\n${ranking}${models}`;
    await using node = await front(toml, { page: "# France\n\nParis is the capital of France.\n" });
    await node.prepare();
    const asked = { ...chat, model: "far-embedding" };
    await waitFor("the page to be found", async () => {
      const { points = [] } = Object(await (await node.ask("/v1/retrieve", asked)).json());
      return points.length > 0;
    });
    expect(server.asked.findLast(({ path }) => path === "/v1/rerank")?.body).toMatchObject({
      model: vllmModel,
      query: "The capital?",
      documents: [expect.stringContaining("Paris is the capital")],
    });
    isAway = true;
    const failed = await node.ask("/v1/retrieve", asked);
    expect([failed.status, await failed.json()]).toEqual([
      502,
      {
        error: {
          message: "The server of the model 'far-reranker' failed (status 500).",
          type: "server_error",
          param: null,
          code: "upstream_failed",
        },
      },
    ]);
  });

  test("says which of a request's fields the server does not act on", async () => {
    await using server = openAiServer(({ path, body }) => {
      if (path === "/v1/models") return modelList(vllmModel);
      if (path !== "/v1/chat/completions") return undefined;
      if (Object(body).messages.length === 0)
        return Response.json({ error: "none" }, { status: 400 });
      return streamOf([
        'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n',
      ]);
    });
    await using node = await front(model("chat", server.url, "ctx_size = 8192"));
    await node.prepare();
    const fields = { ...chat, top_k: 3, min_p: 0.1, temperature: 0.5, colour: "red" };
    const response = await node.ask("/v1/chat/completions", fields);
    expect([response.status, response.headers.get("x-paddock-ignored")]).toEqual([
      200,
      "colour, top_k, min_p",
    ]);
    expect(server.asked.at(-1)?.body).not.toHaveProperty("top_k");
    expect(server.asked.at(-1)?.body).toMatchObject({ temperature: 0.5 });
  });

  test("passes a long event on in short ones, so that a caller that is behind holds them up", async () => {
    const long = "é".repeat(200_000);
    await using server = recordedVllm({
      key,
      instead: ({ path, body }) =>
        path === "/v1/chat/completions" && Object(body).messages.length > 0
          ? streamOf([frame(long), frame("", "stop")])
          : undefined,
    });
    await using node = await front(model("chat", server.url));
    await node.prepare();
    const chunks = await readFrames(
      await node.ask("/v1/chat/completions", { ...chat, stream: true }),
    );
    const contents = chunks.map((data) =>
      data === "[DONE]" ? "" : (Object(JSON.parse(data)).choices[0].delta.content ?? ""),
    );
    const asked = { model: "far-chat", input: "The capital?", stream: true };
    const events = await readEvents(await node.ask("/v1/responses", asked));
    const deltas = events.map((event) =>
      event.type === "response.output_text.delta" ? event.delta : "",
    );
    for (const texts of [contents, deltas]) {
      expect(texts.join("")).toBe(long);
      expect(Math.max(...texts.map(({ length }) => length))).toBe(65_536);
    }
  });

  test("ends the server's work with a caller that leaves", async () => {
    const { response, left } = endlessStream("Hel");
    await using server = recordedVllm({
      key,
      instead: ({ path, body }) =>
        path === "/v1/chat/completions" && Object(body).messages.length > 0 ? response : undefined,
    });
    await using node = await front(model("chat", server.url));
    await node.prepare();
    const leave = new AbortController();
    const answer = await node.ask(
      "/v1/chat/completions",
      { ...chat, stream: true },
      { signal: leave.signal },
    );
    const reader = answer.body?.getReader();
    await reader?.read();
    leave.abort();
    await reader?.cancel();
    await left;
  });
});

describe("a server that is not there when the node starts", () => {
  test("is waited for: the node starts, says what it waits for, and serves when the server comes", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await using node = await front(model("chat", url) + model("embedding", url));
    await node.prepare();
    const cannot = (name: string) =>
      `The server of the model '${name}' cannot be reached: the connection is refused.`;
    expect(await node.ready()).toEqual({
      status: "not ready",
      reasons: [
        cannot("far-chat"),
        cannot("far-embedding"),
        "The collection waits for its embedding model 'far-embedding', which is not ready.",
      ],
    });
    const refused = await node.ask("/v1/chat/completions", chat);
    expect([refused.status, await refused.json()]).toEqual([
      503,
      {
        error: {
          message: cannot("far-chat"),
          type: "server_error",
          param: null,
          code: "unavailable",
        },
      },
    ]);
    expect(refused.headers.get("retry-after")).toBe("2");
    await using _ = recordedVllm({ key, port });
    await waitFor("the node to be ready", async () => (await node.ready()).status === "ready");
    expect((await node.ask("/v1/chat/completions", chat)).status).toBe(200);
    expect((await node.ask("/v1/retrieve", { ...chat, model: "far-embedding" })).status).toBe(200);
  });

  test("and takes no key of ours, is the node's matter and never the caller's", async () => {
    await using server = recordedVllm({ key: "another key" });
    await using node = await front(model("chat", server.url));
    await node.prepare();
    expect(await node.ready()).toMatchObject({
      status: "not ready",
      reasons: [expect.stringContaining("does not accept this node's key")],
    });
    const response = await node.ask("/v1/chat/completions", chat);
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([502, "false"]);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_refused" } });
  });

  test.each([
    ["", "is not set"],
    [" \n", "is not set"],
    ["two\nlines-of-a-secret", "is not a valid key"],
  ])("needs its key in the variable that is named: %j", async (value, why) => {
    const env = { FAR_KEY: value };
    const started = front(model("chat", "http://127.0.0.1:1"), { env });
    expect(await rejectionOf(started)).toMatchObject({
      name: "ConfigError",
      message: `The environment variable FAR_KEY ${why}: 'api_key_env' of the model 'far-chat' says that it holds the key of its server.`,
    });
  });

  test("has its key without the line break that a file ends in", async () => {
    await using server = recordedVllm({ key });
    await using node = await front(model("chat", server.url), { env: { FAR_KEY: `${key}\n` } });
    await node.prepare();
    expect(await node.ready()).toMatchObject({ status: "ready" });
  });
});
