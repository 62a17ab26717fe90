import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChatMessage } from "../../../../src/core/ports/chat-engine.ts";
import { promptPrefix } from "../../../../src/gateway/upstream/chat-engine.ts";
import { front, frontModel, frontKey as key } from "../../../support/front-of-servers.ts";
import { encodedImage, imageUrl } from "../../../support/images.ts";
import { imageBodies } from "../../../support/largest-bodies/images.ts";
import { watchLoop } from "../../../support/loop-watch.ts";
import { modelList, openAiServer, type Script } from "../../../support/openai-server.ts";
import { recordedVllm, vllmModel } from "../../../support/recorded-vllm.ts";
import { openFarChat, targetAt } from "../../../support/upstream.ts";

const url = imageUrl("image/png", 82);
const text = (value: string) => ({ type: "text", text: value });
const image = (address: string, rest: object = {}) => ({
  type: "image_url",
  image_url: { url: address, ...rest },
});

describe("a node in front of a vLLM whose model reads images", () => {
  const resources = new AsyncDisposableStack();
  let node: Awaited<ReturnType<typeof front>>;
  let server: ReturnType<typeof recordedVllm>;
  beforeAll(async () => {
    server = resources.use(recordedVllm({ key, vision: true }));
    const models = frontModel("chat", server.url) + frontModel("embedding", server.url);
    node = resources.use(await front(models));
    await node.prepare();
  });
  afterAll(() => resources.disposeAsync());

  const answer = async (path: string, body: object) => {
    const response = await node.ask(path, { model: "far-chat", ...body });
    return { status: response.status, ...Object(await response.json()) };
  };

  test("says so, and passes on what each API sends", async () => {
    const { models } = Object(await (await node.ask("/v1/info")).json());
    expect(models[0]).toMatchObject({ name: "far-chat", vision: true });
    const seen = "user: (image/png, 82 bytes)What is it?";
    const { choices, usage } = await answer("/v1/chat/completions", {
      messages: [{ role: "user", content: [image(url), text("What is it?")] }],
    });
    expect([choices[0].message.content, usage.prompt_tokens]).toEqual([seen, 23]);
    const parts = [
      { type: "input_image", image_url: url },
      { type: "input_text", text: "What is it?" },
    ];
    const { output } = await answer("/v1/responses", { input: [{ role: "user", content: parts }] });
    expect(output[0].content[0].text).toBe(seen);
    const data = encodedImage("image/png", 82);
    const source = { type: "base64", media_type: "image/png", data };
    const { content } = await answer("/v1/messages", {
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "image", source }, text("What is it?")] }],
    });
    expect(content[0].text).toBe(seen);
    const { message } = await answer("/api/chat", {
      stream: false,
      messages: [{ role: "user", content: "What is it?", images: [data] }],
    });
    expect(message.content).toBe(seen);
  });

  test("passes on places, details and addresses, which it does not fetch", async () => {
    const fetched: string[] = [];
    await using pictures = openAiServer(({ path }) => {
      fetched.push(path);
      return undefined;
    });
    const address = `${pictures.url}/llama.png`;
    const { choices } = await answer("/v1/chat/completions", {
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [text("One: "), image(url, { detail: "low" }), text("two: "), image(address)],
        },
      ],
    });
    expect(choices[0].message.content).toBe(
      `system: Be brief.\nuser: One: (image/png, 82 bytes, low)two: (${address})`,
    );
    expect(fetched).toEqual([]);
  });

  test("passes on what a tool returned", async () => {
    const call = { id: "a", type: "function", function: { name: "look", arguments: "{}" } };
    const { choices } = await answer("/v1/chat/completions", {
      messages: [
        { role: "user", content: "Look!" },
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: "a", content: [image(url)] },
      ],
    });
    expect(choices[0].message.content).toEndWith("tool: (image/png, 82 bytes)");
  });

  test("counts tokens without sending images, and adds as many as an image may have", async () => {
    const { input_tokens: tokens } = await answer("/v1/messages/count_tokens", {
      messages: [
        { role: "user", content: [{ type: "image", source: { type: "url", url } }, text("a")] },
      ],
    });
    expect(tokens).toBe(23 + 1536);
    const asked = server.asked.findLast(({ path }) => path === "/tokenize");
    expect(asked?.body).toMatchObject({ messages: [{ role: "user", content: "a" }] });
  });

  test.each(imageBodies)(
    "leaves the loop to others: $path, $what",
    async ({ path, status, body }) => {
      const sent = new TextEncoder().encode(body());
      using loop = watchLoop();
      let least = Number.POSITIVE_INFINITY;
      // As in tests/faults/largest-bodies.test.ts; the server that is played is on this loop too.
      for (let tries = 0; tries < 5 && least >= 1000; tries++) {
        loop.longest();
        const response = await node.ask(path, undefined, { method: "POST", body: sent });
        await response.arrayBuffer();
        expect(response.status).toBe(status);
        least = Math.min(least, loop.longest());
      }
      if (process.env.PADDOCK_TEST_FIGURES !== undefined) console.log(path, status, least);
      expect(least).toBeLessThan(1000);
    },
  );
});

describe("whether a model reads images", () => {
  const chatServer =
    (list: () => Response, answers: Record<string, object>): Script =>
    ({ path }) => {
      if (path === "/v1/models") return list();
      if (path === "/v1/chat/completions") return Response.json({}, { status: 400 });
      const found = answers[path];
      return found === undefined ? undefined : Response.json(found);
    };
  const listed = () => modelList("far");
  const props = (vision: boolean) => ({
    default_generation_settings: { n_ctx: 4096 },
    modalities: { vision, audio: false },
  });
  const nodeInfo = (vision?: boolean) => ({
    plugin_version: "none",
    models: [
      { name: "far", type: "chat", ctx_size: 4096, ...(vision === undefined ? {} : { vision }) },
    ],
  });
  const sglang = () =>
    Response.json({ data: [{ id: "far", owned_by: "sglang", max_model_len: 4096 }] });

  test.each<[string, boolean, Script]>([
    ["llama-server with a projector", true, chatServer(listed, { "/props": props(true) })],
    ["llama-server without", false, chatServer(listed, { "/props": props(false) })],
    ["SGLang", true, chatServer(sglang, { "/get_model_info": { has_image_understanding: true } })],
    [
      "an SGLang of today",
      true,
      chatServer(sglang, { "/model_info": { has_image_understanding: true } }),
    ],
    ["an SGLang that does not say", false, chatServer(sglang, {})],
    ["another node", true, chatServer(listed, { "/v1/info": nodeInfo(true) })],
    ["another node of before", false, chatServer(listed, { "/v1/info": nodeInfo() })],
    ["any other server", false, chatServer(listed, {})],
  ])("is what its server says: %s", async (_, vision, script) => {
    await using server = openAiServer(script);
    await using model = await openFarChat(targetAt(`${server.url}/v1`).target);
    expect(model.card.vision).toBe(vision);
  });

  test.each([false, true])("is not there where vLLM refuses an image, older: %p", async (older) => {
    await using blind = recordedVllm({ key, older });
    await using node = await front(frontModel("chat", blind.url));
    await node.prepare();
    const { models } = Object(await (await node.ask("/v1/info")).json());
    expect(models[0].vision ?? false).toBe(false);
  });

  test("is what the configuration says, before any server", async () => {
    await using blind = recordedVllm({ key });
    await using seeing = recordedVllm({ key, vision: true });
    for (const [server, said] of [
      [blind, true],
      [seeing, false],
    ] as const) {
      await using node = await front(frontModel("chat", server.url, `vision = ${said}`));
      await node.prepare();
      const { models } = Object(await (await node.ask("/v1/info")).json());
      expect(models[0].vision).toBe(said);
    }
  });

  test("is what all of its replicas say; where they differ, it is given none", async () => {
    await using blind = recordedVllm({ key });
    await using seeing = recordedVllm({ key, vision: true });
    await using gone = recordedVllm({ key });
    await gone[Symbol.asyncDispose]();
    const replicas = (...urls: string[]) =>
      `replicas = [${urls.map((one) => `"${one}/v1"`).join()}]`;
    await using node = await front(frontModel("chat", seeing.url, replicas(blind.url)));
    await node.prepare();
    const body = {
      model: "far-chat",
      messages: [{ role: "user", content: [image(url)] }],
    };
    const response = await node.ask("/v1/chat/completions", body);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("the model 'far-chat' reads text only"),
    ]);
    expect(node.lines.map(({ message }) => message)).toContain(
      "only some replicas of a model read images, so it is given none",
    );
    await using other = await front(frontModel("chat", seeing.url, replicas(gone.url)));
    await other.prepare();
    expect((await other.ask("/v1/chat/completions", body)).status).toBe(200);
  });

  test.each([
    [false, "At most 0 image(s) may be provided in one prompt."],
    [true, "is not a multimodal model"],
  ])("that a server was wrong about is refused in the server's words", async (older, words) => {
    await using server = recordedVllm({ key, older });
    await using node = await front(frontModel("chat", server.url, "vision = true"));
    await node.prepare();
    const messages = [{ role: "user", content: [image(url)] }];
    const response = await node.ask("/v1/chat/completions", { model: "far-chat", messages });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(words)]);
  });
});

test("images that a server cannot fetch or decode are not held against it", async () => {
  await using server = recordedVllm({
    key,
    vision: true,
    instead: ({ path, body }) =>
      path === "/v1/chat/completions" && JSON.stringify(body).includes("image_url")
        ? Response.json({ error: { message: "Failed to load image" } }, { status: 500 })
        : undefined,
  });
  await using node = await front(frontModel("chat", server.url));
  await node.prepare();
  for (let at = 0; at < 4; at++) {
    const address = at < 2 ? `https://gone.example/${at}.png` : imageUrl("image/png", 80 + at);
    const messages = [{ role: "user", content: [image(address)] }];
    const response = await node.ask("/v1/chat/completions", { model: "far-chat", messages });
    expect(response.status).toBe(502);
  }
  expect(node.lines.map(({ message }) => message)).not.toContain(
    "a replica failed, and is left alone for a while",
  );
});

test("a conversation goes to a replica by its images too, and by their ends and lengths alone", () => {
  const prefix = (...images: string[]): string => {
    const message: ChatMessage = {
      role: "user",
      content: "What is it?",
      images: images.map((one) => ({ at: 0, url: one })),
    };
    return promptPrefix([message], { model: vllmModel });
  };
  const plain = promptPrefix([{ role: "user", content: "What is it?" }], { model: vllmModel });
  expect(prefix()).toBe(plain);
  const long = imageUrl("image/png", 100_000);
  const others = [prefix(url), prefix(imageUrl("image/gif", 82)), prefix(long), prefix(url, url)];
  expect(new Set([plain, ...others]).size).toBe(5);
  expect(prefix(imageUrl("image/png", 100_000))).toBe(prefix(long));
  const changed = `${long.slice(0, 50_000)}AAAA${long.slice(50_004)}`;
  expect(prefix(changed)).toBe(prefix(long));
});
