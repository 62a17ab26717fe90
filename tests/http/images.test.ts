import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ChatMessage } from "../../src/core/ports/chat-engine.ts";
import { SqliteKeys } from "../../src/store/keys/sqlite-keys.ts";
import { decodeError } from "../support/decode.ts";
import { documentsClient } from "../support/documents-client.ts";
import { encodedImage, imageBytes, imageTypes, imageUrl } from "../support/images.ts";
import { passage } from "../support/passages.ts";
import { runningDocuments } from "../support/running-documents.ts";
import { finish } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { chatModel, card as testCard } from "../support/test-models.ts";
import { waitFor } from "../support/wait-for.ts";

const url = imageUrl();
const text = (value: string) => ({ type: "text", text: value }) as const;
const ask = { model: "chatty" };

/** What the model was given of a body. */
async function givenTo(app: TestApp, path: string, body: object): Promise<readonly ChatMessage[]> {
  app.chat.script(text("A llama."), finish);
  const response = await app.post(path, { ...ask, ...body });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return app.chat.requests.at(-1)?.messages ?? [];
}

const imagePart = (address: string, rest: object = {}) => ({
  type: "image_url",
  image_url: { url: address, ...rest },
});
const chatWith = (...content: object[]) => ({ messages: [{ role: "user", content }] });
const source = { type: "base64", media_type: "image/png", data: encodedImage() };

/** The same question with an image, in every API. */
const asked: readonly [path: string, body: object][] = [
  ["/v1/chat/completions", chatWith(imagePart(url), text("What is it?"))],
  [
    "/v1/responses",
    {
      input: [
        {
          role: "user",
          content: [
            { type: "input_image", image_url: url },
            { type: "input_text", text: "What is it?" },
          ],
        },
      ],
    },
  ],
  ["/v1/messages", { max_tokens: 9, ...chatWith({ type: "image", source }, text("What is it?")) }],
  ["/api/chat", { messages: [{ role: "user", content: "What is it?", images: [encodedImage()] }] }],
  ["/api/generate", { prompt: "What is it?", images: [encodedImage()] }],
];

describe("an image", () => {
  test.each(asked)("reaches a model that reads images in one form: %s", async (path, body) => {
    const app = testApp({ vision: true });
    expect(await givenTo(app, path, body)).toEqual([
      { role: "user", content: "What is it?", images: [{ at: 0, url }] },
    ]);
  });

  test.each(asked)("is rejected for a model that reads text: %s", async (path, body) => {
    const app = testApp();
    const response = await app.post(path, { ...ask, ...body });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(
      "is an image, and the model 'chatty' reads text only, no images. No model of this node reads images.",
    );
  });

  test("in base64 with line breaks for padding is sent without them", async () => {
    const app = testApp({ vision: true });
    const padded = imageUrl("image/png", 40);
    expect(padded).toEndWith("==");
    const sent = chatWith(imagePart(padded.replace("==", "\n\n")));
    expect(await givenTo(app, "/v1/chat/completions", sent)).toMatchObject([
      { images: [{ url: padded }] },
    ]);
  });

  test("keeps its place between texts", async () => {
    const app = testApp({ vision: true });
    const [first, second] = [imageUrl("image/gif"), "https://example.org/llama.png?size=9"];
    const parts = [
      text("One: "),
      imagePart(first, { detail: "low" }),
      text("two: "),
      imagePart(second, { detail: null }),
    ];
    expect(await givenTo(app, "/v1/chat/completions", chatWith(...parts))).toEqual([
      {
        role: "user",
        content: "One: two: ",
        images: [
          { at: 5, url: first, detail: "low" },
          { at: 10, url: second },
        ],
      },
    ]);
    const image = { type: "image", source: { type: "url", url: second } };
    const blocks = { max_tokens: 9, ...chatWith(text("One"), image, text("two"), image) };
    expect(await givenTo(app, "/v1/messages", blocks)).toEqual([
      {
        role: "user",
        content: "One\n\ntwo",
        images: [
          { at: 3, url: second },
          { at: 8, url: second },
        ],
      },
    ]);
  });

  test("may be all that a message has", async () => {
    const app = testApp({ vision: true });
    const only = { role: "user", content: "", images: [{ at: 0, url }] } as const;
    expect(await givenTo(app, "/v1/chat/completions", chatWith(imagePart(url)))).toEqual([only]);
    const images = [encodedImage()];
    expect(await givenTo(app, "/api/generate", { images })).toEqual([only]);
  });

  test("may be what a tool returns", async () => {
    const app = testApp({ vision: true });
    const use = { type: "tool_use", id: "a", name: "look", input: {} };
    const returned = (content: object[], rest = {}) => ({
      max_tokens: 9,
      messages: [
        { role: "user", content: "Look!" },
        { role: "assistant", content: [use] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content, ...rest }] },
      ],
    });
    const image = { type: "image", source };
    const [, , result] = await givenTo(app, "/v1/messages", returned([text("Seen"), image]));
    expect(result).toEqual({
      ...{ role: "tool", toolCallId: "a", content: "Seen", images: [{ at: 4, url }] },
    });
    const failed = await givenTo(app, "/v1/messages", returned([image], { is_error: true }));
    expect(failed[2]).toMatchObject({ content: "Error: ", images: [{ at: 7, url }] });
  });

  test("moves with its text when passages are put before it", async () => {
    const app = testApp({ vision: true, rag: { policy: "last-user-message" } });
    await app.repository.upsert([passage(1, [1, 1])]);
    const [message] = await givenTo(
      app,
      "/v1/chat/completions",
      chatWith(text("What is it? "), imagePart(url)),
    );
    const { content = "" } = message ?? {};
    expect(content).toEndWith("What is it? ");
    expect(content.length).toBeGreaterThan(12);
    expect(message).toMatchObject({ images: [{ at: content.length, url }] });
  });
});

describe("an image that is not what it says", () => {
  const place = "messages[0].content[0].image_url.url";
  const large = imageUrl("image/png", (1 << 16) + 1);
  test.each<[what: string, address: string, problem: string]>([
    [
      "a PNG that says JPEG",
      url.replace("png", "jpeg"),
      "says that it is 'image/jpeg', and its content is 'image/png'",
    ],
    ["no base64", "data:image/png;base64,iVBORw0K!!!", "is not base64"],
    [
      "base64 of other bytes",
      "data:image/png;base64,AAAA",
      "is not a PNG, JPEG, WebP or GIF image",
    ],
    [
      "an SVG",
      `data:image/svg+xml;base64,${btoa("<svg/>")}`,
      "is not a PNG, JPEG, WebP or GIF image",
    ],
    ["nothing", "data:image/png;base64,", "is not a PNG"],
    ["plain data", "data:image/svg+xml,<svg/>", "is a data: address without ';base64'"],
    [
      "a file of the server",
      "file:///etc/passwd",
      "must be an http(s) address, or a data: address",
    ],
    ["a path", "/etc/passwd", "must be an http(s) address, or a data: address"],
    ["an empty address", "", "must be an http(s) address, or a data: address"],
    ["an address that is none", "https://", "is not an address"],
    [
      "an endless address",
      `https://example.org/${"a".repeat(9000)}`,
      "has more than 8192 characters",
    ],
    [
      "more than the node takes",
      large,
      "has more than the 65536 bytes that an image may have (limits.max_image_bytes)",
    ],
  ])("is rejected: %s", async (_, address, problem) => {
    const app = testApp({ vision: true });
    const body = { ...ask, ...chatWith(imagePart(address)) };
    const response = await app.post("/v1/chat/completions", body);
    expect(response.status).toBe(400);
    const { param, message } = await decodeError(response);
    expect([param, message]).toEqual([place, expect.stringContaining(problem)]);
    expect(message.length).toBeLessThan(400);
  });

  test.each([
    ["system", "/v1/chat/completions", [{ role: "system", content: [imagePart(url)] }]],
    ["assistant", "/v1/chat/completions", [{ role: "assistant", content: [imagePart(url)] }]],
    ["system", "/api/chat", [{ role: "system", content: "a", images: [encodedImage()] }]],
    ["assistant", "/api/chat", [{ role: "assistant", content: "a", images: [encodedImage()] }]],
  ])("is rejected in a message of the %s: %s", async (role, path, messages) => {
    const app = testApp({ vision: true });
    const user = { role: "user", content: "a" };
    const response = await app.post(path, { ...ask, messages: [...messages, user] });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`an image in a message with the role '${role}'`);
  });

  test("is rejected without an image", async () => {
    const app = testApp({ vision: true });
    const response = await app.post("/v1/chat/completions", {
      ...ask,
      ...chatWith({ type: "image_url" }),
    });
    expect((await decodeError(response)).param).toBe(place);
  });
});

test.each(imageTypes)("%s is read, with line breaks and without padding", async (type) => {
  const app = testApp({ vision: true });
  const data = encodedImage(type, 50);
  const wrapped = data.replace(/=+$/, "").replace(/(.{20})/g, "$1\n");
  const body = { messages: [{ role: "user", content: "a", images: [data, wrapped] }] };
  const address = `data:${type};base64,${data}`;
  expect(await givenTo(app, "/api/chat", body)).toMatchObject([
    { images: [{ url: address }, { url: address }] },
  ]);
});

test("a model that reads text names those that read images", async () => {
  const app = testApp();
  const models = app.models;
  const seeing = { ...testCard("chatty", "chat"), vision: true };
  expect(models.cannotSee("chatty", "This is an image", "a").message).toEndWith(
    "No model of this node reads images.",
  );
  models.add(chatModel("chatty", app.chat, seeing));
  expect(models.cannotSee("other", "This is an image", "a").message).toEndWith(
    "Models of this node that read images: chatty.",
  );
});

test("operations that read the text of messages reject images", async () => {
  const app = testApp({ vision: true });
  for (const [path, body] of [
    ["/v1/tokenize", chatWith(imagePart(url))],
    ["/v1/retrieve", { ...chatWith(imagePart(url)), model: "vectors" }],
  ] as const) {
    const response = await app.post(path, { ...ask, ...body });
    expect(await decodeError(response)).toMatchObject({
      param: "messages[0].content[0]",
      message: expect.stringContaining("this operation reads text only, no images"),
    });
  }
});

test("a prompt log says that there was an image, and not its bytes", async () => {
  const app = testApp({ vision: true, logPrompts: true });
  const data = encodedImage("image/png", 60_000);
  await givenTo(
    app,
    "/v1/chat/completions",
    chatWith(text("What is it?"), imagePart(imageUrl("image/png", 60_000))),
  );
  await givenTo(app, "/api/generate", { prompt: "What is it?", images: [data] });
  await givenTo(app, "/v1/messages", {
    max_tokens: 9,
    ...chatWith({ type: "image", source: { ...source, data } }),
  });
  const prompts = app.log.filter(({ message }) => message === "a prompt");
  expect(prompts).toHaveLength(3);
  for (const { fields } of prompts) expect(JSON.stringify(fields).length).toBeLessThan(1000);
  expect(JSON.stringify(prompts[0]?.fields)).toContain("data:image/png;base64,iVBOR");
});

describe("an uploaded image", () => {
  const inResponse = (file_id: string) => ({
    input: [{ role: "user", content: [{ type: "input_image", file_id, detail: "high" }] }],
  });
  const inMessage = (file_id: string) => ({
    max_tokens: 9,
    ...chatWith({ type: "image", source: { type: "file", file_id } }),
  });

  test("is sent as data, in each turn again, and only its id is stored", async () => {
    await using running = await runningDocuments({ vision: true });
    const { app, client } = running;
    const id = await client.file(new Blob([imageBytes("image/webp")]), "llama.webp");
    const seen = { at: 0, url: imageUrl("image/webp") };
    expect(await givenTo(app, "/v1/messages", inMessage(id))).toMatchObject([{ images: [seen] }]);
    app.chat.script(text("A llama."), finish);
    const first = Object(
      await (await app.post("/v1/responses", { ...ask, ...inResponse(id) })).json(),
    );
    const stored = await app.responses.responses.find(first.id, {});
    expect(JSON.stringify(stored)).not.toContain("base64");
    expect(stored?.conversation[0]).toMatchObject({ images: [{ file: id, detail: "high" }] });
    const next = { input: "And its colour?", previous_response_id: first.id };
    expect((await givenTo(app, "/v1/responses", next))[0]).toMatchObject({
      images: [{ ...seen, detail: "high" }],
    });
    await client.send("DELETE", `/files/${id}`);
    const gone = await app.post("/v1/responses", { ...ask, ...next });
    expect([gone.status, await gone.text()]).toEqual([404, expect.stringContaining(id)]);
  });

  test("that is none is rejected, and so is more than a body may have", async () => {
    await using running = await runningDocuments({ vision: true, maxBodyBytes: 100_000 });
    const { app, client } = running;
    const notes = await client.file("# Notes");
    const large = await client.file(new Blob([imageBytes("image/png", 70_000)]), "large.png");
    const half = await client.file(new Blob([imageBytes("image/png", 40_000)]), "half.png");
    const refusal = async (body: object) => {
      const response = await app.post("/v1/messages", { ...ask, ...body });
      return [response.status, Object(await response.json()).error.message];
    };
    expect(await refusal(inMessage(notes))).toEqual([
      400,
      `The file '${notes}', which is used as an image, is not a PNG, JPEG, WebP or GIF image.`,
    ]);
    expect(await refusal(inMessage(large))).toEqual([400, expect.stringContaining("65536 bytes")]);
    const block = { type: "image", source: { type: "file", file_id: half } };
    expect(await refusal({ max_tokens: 9, ...chatWith(block, block) })).toEqual([
      400,
      expect.stringContaining("more than 100000 bytes in base64"),
    ]);
    expect(await refusal(inMessage("file-0"))).toEqual([404, "No such file: 'file-0'."]);
  });

  test("takes memory until its answer has ended, and one caller not all of it", async () => {
    const limits = { maxBodyBytes: 200_000, maxImageBytes: 150_000, slots: 64, maxQueue: 64 };
    const keys = ["first-key", "second-key"];
    await using running = await runningDocuments({ vision: true, keys, ...limits });
    const { app } = running;
    const image = new Blob([imageBytes("image/png", 149_000)]);
    const id = await documentsClient(app, "first-key").file(image, "llama.png");
    const line = Promise.withResolvers<void>();
    app.chat.line = line.promise;
    const send = async (key: string, body: object) => {
      app.chat.script(text("A llama."), finish);
      const headers = { authorization: `Bearer ${key}` };
      const response = await app.post("/v1/messages", { ...ask, ...body }, headers);
      return { status: response.status, text: await response.text() };
    };
    const answered: Awaited<ReturnType<typeof send>>[] = [];
    const sent = Array.from({ length: 40 }, async () => {
      answered.push(await send("first-key", inMessage(id)));
    });
    await waitFor("all to be held or refused", () => {
      return app.chat.requests.length + answered.length === 40;
    });
    // 32 bodies of the largest size for all, and half of them for one caller.
    expect(app.chat.requests).toHaveLength(24);
    for (const { status, text } of answered) {
      expect([status, text]).toEqual([529, expect.stringContaining("memory for large bodies")]);
    }
    const others = [
      send("second-key", inMessage(id)),
      send("first-key", { max_tokens: 9, ...chatWith(text("And llamas?")) }),
    ];
    await waitFor("the others to be admitted", () => app.chat.requests.length === 26);
    line.resolve();
    await Promise.all(sent);
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
    expect(answered.filter(({ status }) => status === 200)).toHaveLength(24);
    expect((await send("first-key", inMessage(id))).status).toBe(200);
  });

  test("is only for keys that may read files, and for those that may see it", async () => {
    await using resources = new AsyncDisposableStack();
    const folder = resources.use(await tempDir());
    const keys = resources.use(new SqliteKeys(join(folder.path, "keys.sqlite")));
    const { app } = resources.use(await runningDocuments({ vision: true, ring: keys }));
    const client = (name: string, rest: object = {}) =>
      documentsClient(app, keys.create({ name, scopes: ["chat", "documents"], ...rest }).text);
    const owner = client("owner");
    const id = await owner.file(new Blob([imageBytes()]), "llama.png");
    const { id: store } = await owner.store();
    const send = (who: ReturnType<typeof client>) =>
      who.send("POST", "/responses", { ...ask, ...inResponse(id) });
    app.chat.script(text("A llama."), finish);
    expect((await send(owner)).status).toBe(200);
    expect((await send(client("chatting", { scopes: ["chat"] }))).status).toBe(403);
    expect((await send(client("bound", { vectorStores: [store] }))).status).toBe(404);
  });
});

describe("a stored conversation with images", () => {
  const item = {
    role: "user",
    content: [
      { type: "input_image", image_url: url },
      { type: "input_text", text: "What is it?" },
    ],
  };

  test("is continued by a model that reads them", async () => {
    const app = testApp({ vision: true });
    const made = Object(await (await app.post("/v1/conversations", { items: [item] })).json());
    const body = { conversation: made.id, input: "Its colour?" };
    expect(await givenTo(app, "/v1/responses", body)).toEqual([
      { role: "user", content: "What is it?", images: [{ at: 0, url }] },
      { role: "user", content: "Its colour?" },
    ]);
  });

  test("is not continued by one that reads text", async () => {
    const app = testApp({ vision: true });
    app.chat.script(text("A llama."), finish);
    const first = Object(await (await app.post("/v1/responses", { ...ask, input: [item] })).json());
    const made = Object(await (await app.post("/v1/conversations", { items: [item] })).json());
    app.models.add(chatModel("chatty", app.chat));
    for (const [param, id] of [
      ["previous_response_id", first.id],
      ["conversation", made.id],
    ]) {
      for (const path of ["/v1/responses", "/v1/responses/input_tokens"]) {
        const response = await app.post(path, { ...ask, input: "Its colour?", [param]: id });
        expect(await decodeError(response)).toMatchObject({
          param,
          message: expect.stringContaining(`'${param}' has images, and the model 'chatty' reads`),
        });
      }
    }
  });

  test("larger than a stored response may be is answered, and not stored", async () => {
    const app = testApp({ vision: true, responses: { maxResponseBytes: 4096 } });
    app.chat.script(text("A llama."), finish);
    const large = {
      role: "user",
      content: [{ type: "input_image", image_url: imageUrl("image/png", 5000) }],
    };
    const answer = Object(
      await (await app.post("/v1/responses", { ...ask, input: [large] })).json(),
    );
    expect([answer.status, answer.store]).toEqual(["completed", false]);
  });
});

test("tells clients which models read images", async () => {
  const app = testApp({ vision: true });
  const { models } = Object(await (await app.get("/v1/info")).json());
  expect(models[0]).toMatchObject({ name: "chatty", vision: true });
  const shown = Object(await (await app.post("/api/show", { model: "chatty" })).json());
  expect(shown.capabilities).toContain("vision");
});
