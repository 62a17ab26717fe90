import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Type as T } from "@sinclair/typebox";
import {
  ChatCompletion,
  type ChatCompletionChunk,
} from "../../src/server/operations/chat/schema.ts";
import { Completion } from "../../src/server/operations/completions/schema.ts";
import { EmbeddingList } from "../../src/server/operations/embeddings.ts";
import { Message } from "../../src/server/operations/messages/answer-schema.ts";
import { ModelList } from "../../src/server/operations/models/schema.ts";
import { NodeInfo } from "../../src/server/operations/node/schema.ts";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { RetrieveResult } from "../../src/server/operations/retrieve/schema.ts";
import { decode } from "../support/decode.ts";
import { type ServingPaddock, servePaddock, sourceFile } from "../support/paddock-process.ts";
import { readFrames } from "../support/sse.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";

/** Two threads wait for each other at every step, which takes a core from the tests beside them. */
const oneThread = ["--threads", "1"];

let folder: TempDir;
let node: ServingPaddock;

/** The first start assembles 320 MB of weights; with all of the handbook, which the program in `src` has. */
beforeAll(async () => {
  folder = await tempDir();
  node = await servePaddock({ cwd: folder.path, entry: sourceFile }, oneThread);
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const post = (path: string, body?: unknown): Promise<Response> =>
  fetch(`${node.origin}/v1${path}`, {
    method: "POST",
    // Bun gives up after five minutes of silence, which a long prompt may take beside other work.
    timeout: false,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });

/** As much of an OpenAPI document as its request examples need. */
const Examples = T.Object({
  paths: T.Record(
    T.String(),
    T.Object({
      post: T.Optional(
        T.Object({
          requestBody: T.Optional(
            T.Object({
              content: T.Object({
                "application/json": T.Optional(T.Object({ example: T.Unknown() })),
              }),
            }),
          ),
        }),
      ),
    }),
  ),
});

const question = {
  model: "TinyLlama-1.1B-Chat-v1.0",
  temperature: 0,
  max_tokens: 40,
  messages: [
    { role: "system", content: "You are a helpful assistant." },
    { role: "user", content: "What is the capital of France?" },
  ],
};

/** What a newcomer asks finds the page that answers it. */
const handbookQuestions = [
  ["How do I add an API key?", "keys.md"],
  ["How do I stream an answer?", "api.md"],
  ["How do I use the node with LangChain?", "api.md"],
  ["How do I use the node with Claude Code?", "api.md"],
  ["How do I add my own documents?", "knowledge.md"],
  ["How do I run it with systemd?", "deploy.md"],
  ["How many threads should it use?", "tuning.md"],
  ["How do I download a model from Hugging Face?", "models.md"],
  ["It says that port 8080 is in use already. Why?", "troubleshooting.md"],
  ["Which metrics does the node have for Prometheus?", "operating.md"],
  ["What happens when a model's process crashes?", "reliability.md"],
  ["How do I report a security problem?", "security.md"],
  ["Where does the web page keep my conversations?", "page.md"],
  ["How do I get shell completions?", "command-line.md"],
  ["How do I run the node for the first time?", "getting-started.md"],
] as const;

describe("a first start with the starter models", () => {
  test("says what it does, then where it listens and what to try", () => {
    expect(node.stdout()).toMatch(
      /^Paddock \d+\.\d+\.\d+ listening on http:\/\/127\.0\.0\.1:\d+\nPage: .*\/\nDocs: .*\/docs\nTry: {2}curl /,
    );
    expect(node.stderr()).toContain("Assembling the starter chat model");
    expect(node.stderr()).toContain("Quantizing tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf to q4_0");
    expect(node.stderr()).toMatch(/(Converting|Writing) the starter embedding model/);
  });

  test("chats", async () => {
    const answer = await decode(ChatCompletion, await post("/chat/completions", question));
    expect(answer.choices[0]?.message.content).toContain("Paris");
    expect(answer.choices[0]?.finish_reason).toBe("stop");
  });

  test("streams", async () => {
    const response = await post("/chat/completions", { ...question, stream: true });
    const frames = await readFrames(response);
    expect(frames.pop()).toBe("[DONE]");
    const chunks: ChatCompletionChunk[] = frames.map((frame) => JSON.parse(frame));
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
    expect(text).toContain("Paris");
  });

  test("answers as Anthropic's API does", async () => {
    const [{ content: system } = { content: "" }, ...messages] = question.messages;
    const response = await post("/messages", { ...question, system, messages });
    const answer = await decode(Message, response);
    expect(answer.content).toMatchObject([{ type: "text", text: expect.stringMatching(/Paris/) }]);
    expect(answer.stop_reason).toBe("end_turn");
  });

  test("calls a tool with arguments that mean something", async () => {
    const parameters = {
      type: "object",
      properties: { city: { type: "string", maxLength: 40 } },
      required: ["city"],
    };
    const tool = { name: "get_weather", description: "The weather in a city", parameters };
    const response = await post("/chat/completions", {
      model: question.model,
      temperature: 0,
      max_tokens: 80,
      messages: [{ role: "user", content: "What is the weather in Paris?" }],
      tools: [{ type: "function", function: tool }],
      tool_choice: "required",
    });
    const [choice] = (await decode(ChatCompletion, response)).choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    const [call] = choice?.message.tool_calls ?? [];
    expect(call?.function.name).toBe("get_weather");
    expect(JSON.parse(call?.function.arguments ?? "")).toEqual({
      city: expect.stringMatching(/paris/i),
    });
  });

  test("answers in the form of a schema", async () => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string", maxLength: 40 },
        country: { enum: ["France", "Italy", "Spain"] },
      },
      required: ["city", "country"],
      additionalProperties: false,
    };
    const response = await post("/chat/completions", {
      ...question,
      max_tokens: 80,
      response_format: { type: "json_schema", json_schema: { name: "capital", schema } },
    });
    const [choice] = (await decode(ChatCompletion, response)).choices;
    expect(choice?.finish_reason).toBe("stop");
    expect(JSON.parse(choice?.message.content ?? "")).toEqual({
      city: expect.any(String),
      country: expect.stringMatching(/^(France|Italy|Spain)$/),
    });
  });

  test("embeds meaning", async () => {
    const input = [
      "What is the capital of France?",
      "Paris is the capital and largest city of France.",
      "Bananas are rich in potassium.",
    ];
    const response = await post("/embeddings", { model: "all-MiniLM-L6-v2", input });
    const { data } = await decode(EmbeddingList, response);
    const vectors = data.map(({ embedding }) => (typeof embedding === "string" ? [] : embedding));
    const similarity = (a: number, b: number): number =>
      (vectors[a] ?? []).reduce((sum, value, at) => sum + value * (vectors[b]?.[at] ?? 0), 0);
    expect(similarity(0, 1)).toBeCloseTo(0.773, 1);
    expect(similarity(0, 2)).toBeCloseTo(-0.036, 1);
  });

  test.each(handbookQuestions)("retrieves from its own handbook: %s", async (content, page) => {
    const response = await post("/retrieve", {
      model: "all-MiniLM-L6-v2",
      include_metadata: true,
      messages: [{ role: "user", content }],
    });
    const { points, limit } = await decode(RetrieveResult, response);
    expect(points[0]?.metadata?.document).toBe(`paddock:handbook/${page}`);
    expect(points.length).toBeLessThanOrEqual(limit);
  });

  test("grounds a conversation, whose second turn reuses what the first evaluated", async () => {
    const ask = async (messages: readonly object[], mostTokens: number) =>
      await decode(
        ChatCompletion,
        await post("/chat/completions", {
          model: question.model,
          temperature: 0,
          max_tokens: mostTokens,
          rag: { limit: 1 },
          messages,
        }),
      );
    const first = { role: "user", content: "How do I stop this node?" };
    const answer = await ask([first], 24);
    expect(answer.retrieval).toMatchObject({
      points: [{ metadata: { document: "paddock:handbook/getting-started.md" } }],
      dropped: 0,
    });
    expect(answer.choices[0]?.message.content).toMatch(/Ctrl-C|SIGTERM/);
    const { content } = answer.choices[0]?.message ?? {};
    const reply = { role: "assistant", content };
    const second = await ask([first, reply, { role: "user", content: "Which port is used?" }], 1);
    expect(second.retrieval?.carried).toBe(1);
    expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(
      answer.usage.prompt_tokens,
    );
  });

  test("makes a response that goes on from another, and reuses what that one evaluated", async () => {
    const ask = async (more: object) =>
      await decode(
        ResponseObject,
        await post("/responses", {
          model: question.model,
          instructions: "You are a helpful assistant.",
          temperature: 0,
          max_output_tokens: 16,
          ...more,
        }),
      );
    const first = await ask({ input: "What is the capital of France?" });
    expect(JSON.stringify(first.output)).toContain("Paris");
    const second = await ask({ input: "And of Italy?", previous_response_id: first.id });
    expect(second.output).toMatchObject([{ type: "message" }]);
    expect(second.usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(
      first.usage?.input_tokens ?? 9999,
    );
  });

  test("continues a text as it stands, and scores it", async () => {
    const asked = {
      model: question.model,
      prompt: "France: Paris\nItaly: Rome\nSpain:",
      temperature: 0,
    };
    const { choices } = await decode(
      Completion,
      await post("/completions", { ...asked, max_tokens: 4 }),
    );
    expect(choices[0]?.text).toMatch(/^ Madrid/);
    const meanOf = async (prompt: string): Promise<number> => {
      const scored = { ...asked, prompt, echo: true, logprobs: 0, max_tokens: 0 };
      const answer = await decode(Completion, await post("/completions", scored));
      const values = answer.choices[0]?.logprobs?.token_logprobs.flatMap((one) => one ?? []) ?? [];
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    };
    const sense = await meanOf("The capital of France is Paris.");
    expect(sense).toBeGreaterThan(await meanOf("France Paris of capital. is The"));
  });

  test("answers every example of its own description", async () => {
    const { paths } = await decode(Examples, await fetch(`${node.origin}/openapi.json`));
    // Those about one object name ids that are examples themselves, there is no starter reranker,
    // and the hub cannot be reached; other tests send them.
    const asked = Object.entries(paths).flatMap(([path, { post: operation }]) => {
      const json = operation?.requestBody?.content["application/json"];
      const isSent = json !== undefined && !/\{|rerank|pull$/.test(path);
      return isSent ? [{ path, body: json.example }] : [];
    });
    expect(asked.map(({ path }) => path)).toEqual([
      "/v1/chat/completions",
      "/v1/completions",
      "/v1/responses",
      "/v1/responses/input_tokens",
      "/v1/conversations",
      "/v1/messages",
      "/v1/messages/count_tokens",
      "/v1/embeddings",
      "/v1/retrieve",
      "/v1/tokenize",
      "/v1/detokenize",
      "/v1/models/load",
      "/v1/models/unload",
      "/v1/vector_stores",
      "/mcp",
      ...["/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/show"],
    ]);
    for (const { path, body } of asked) {
      const response = await fetch(new URL(path, node.origin), {
        method: "POST",
        timeout: false,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(body),
      });
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
      await response.text();
    }
  });

  test("lists its models and describes itself", async () => {
    const { data } = await decode(ModelList, await post("/models"));
    expect(data.map(({ id }) => id)).toEqual(["TinyLlama-1.1B-Chat-v1.0", "all-MiniLM-L6-v2"]);
    const info = await decode(NodeInfo, await post("/info"));
    expect(info.port).toBe(new URL(node.origin).port);
    expect(info.plugin_version).toMatch(/^llama\.cpp v\d/);
    expect(info.models.map(({ ctx_size }) => ctx_size)).toEqual([2048, 512]);
  });

  test("leaves whole files only, and the next start touches none of them", async () => {
    const models = join(folder.path, ".paddock", "models");
    const listing = async () =>
      await Promise.all(
        (await readdir(models)).sort().map(async (name) => {
          const { size, mtimeMs } = await stat(join(models, name));
          return { name, size, mtimeMs };
        }),
      );
    const before = await listing();
    expect(before.map(({ name }) => name)).toEqual([
      "all-minilm-l6-v2.q8_0.gguf",
      "digests.json",
      "tinyllama-1.1b-chat-v1.0.iq2_xxs.from-1f5ff7382583babb.q4_0.gguf",
      "tinyllama-1.1b-chat-v1.0.iq2_xxs.from-1f5ff7382583babb.q4_0.gguf.made-from.json",
      "tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf",
    ]);
    await using second = await servePaddock({ cwd: folder.path, entry: sourceFile }, oneThread);
    expect(second.stderr()).not.toContain("Assembling");
    expect(second.stderr()).not.toContain("Quantizing");
    expect(second.stderr()).not.toContain("Storing passages");
    expect(await listing()).toEqual(before);
  });
});
