import { describe, expect, test } from "bun:test";
import { finish } from "../support/scripted-engines.ts";
import { testApp } from "../support/test-app.ts";

const user = { role: "user", content: "q" };
const many = (length: number) => Array.from({ length }, () => user);
const deep = "[".repeat(100_000) + "]".repeat(100_000);

async function failure(response: Response): Promise<[number, string | null, string]> {
  const { error } = (await response.json()) as { error: { param: string | null; message: string } };
  return [response.status, error.param, error.message];
}

describe("a list of a request", () => {
  const app = () => testApp({ maxMessages: 2, maxInputs: 2 });

  test.each<[string, object, string, string]>([
    ["/v1/chat/completions", { model: "chatty", messages: many(3) }, "messages", "max_messages"],
    ["/v1/retrieve", { model: "vectors", messages: many(3) }, "messages", "max_messages"],
    ["/v1/embeddings", { model: "vectors", input: ["a", "b", "c"] }, "input", "max_inputs"],
    ["/v1/embeddings", { model: "vectors", input: [[1], [2], [3]] }, "input", "max_inputs"],
  ])("that is too long is a 400 with its name: %s %j", async (path, body, param, setting) => {
    expect(await failure(await app().post(path, body))).toEqual([
      400,
      param,
      `'${param}' is a list of 3; this node takes at most 2 (limits.${setting}).`,
    ]);
  });

  test.each<[string, object]>([
    ["/v1/chat/completions", { model: "chatty", messages: many(2) }],
    ["/v1/retrieve", { model: "vectors", messages: many(2) }],
    ["/v1/embeddings", { model: "vectors", input: ["a", "b"] }],
    // One input of three tokens.
    ["/v1/embeddings", { model: "vectors", input: [1, 2, 3] }],
  ])("may be as long as is allowed: %s %j", async (path, body) => {
    const asked = app();
    asked.chat.script(finish);
    expect((await asked.post(path, body)).status).toBe(200);
  });
});

describe("a value that is nested 100,000 deep", () => {
  const chat = (more: string) =>
    `{"model":"chatty","messages":[{"role":"user","content":"q"}]${more}}`;

  test.each([
    ["in a field that is not known", "x", chat(`,"x":${deep}`)],
    [
      "in a tool's schema",
      "tools",
      chat(`,"tools":[{"type":"function","function":{"name":"f","parameters":{"items":${deep}}}}]`),
    ],
    [
      "in a format's schema",
      "response_format",
      chat(`,"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":${deep}}}`),
    ],
    ["in place of messages", "messages", `{"model":"chatty","messages":${deep}}`],
  ])("is a 400 %s", async (_, param, body) => {
    expect(await failure(await testApp().post("/v1/chat/completions", body))).toEqual([
      400,
      param,
      `'${param}' is nested too deep: a body may have 256 levels.`,
    ]);
  });

  test("is a 400 in the arguments of a call, which are JSON in a string", async () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: deep } };
    const messages = [
      user,
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "r" },
    ];
    const response = await testApp().post("/v1/chat/completions", { model: "chatty", messages });
    expect(await failure(response)).toEqual([
      400,
      "messages[1].tool_calls[0].function.arguments",
      "'messages[1].tool_calls[0].function.arguments' is nested too deep: a body may have 256 levels.",
    ]);
  });
});

describe("what a caller wrote", () => {
  const long = "x".repeat(100_000);
  const assistant = (id: string) => ({
    role: "assistant",
    tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
  });

  test.each<[string, object]>([
    ["as a model", { model: long }],
    ["as a token id", { logit_bias: { [long]: 1 } }],
    ["as a role", { messages: [{ role: long }] }],
    ["as a type of content", { messages: [{ role: "user", content: [{ type: long }] }] }],
    ["as the id of a call", { messages: [user, assistant(long)] }],
    ["as the id of a result", { messages: [user, { role: "tool", tool_call_id: long }] }],
    ["as the name of a tool", { tools: [{ type: "function", function: { name: long } }] }],
    [
      "as a choice of tool",
      {
        tools: [{ type: "function", function: { name: "f" } }],
        tool_choice: { type: "function", function: { name: long } },
      },
    ],
    ["as a field", { [long]: JSON.parse("[".repeat(300) + "]".repeat(300)) }],
  ])("is repeated only in part in an error: %s", async (_, fields) => {
    const body = { model: "chatty", messages: [user], ...fields };
    const response = await testApp().post("/v1/chat/completions", body);
    expect(response.ok).toBe(false);
    expect((await response.text()).length).toBeLessThan(2500);
  });
});

test.each([
  ["/v1/chat/completions", "messages"],
  ["/v1/retrieve", "messages"],
  ["/v1/embeddings", "input"],
])("%s: a list that is too long is refused for that, whatever is in it", async (path, field) => {
  const app = testApp({ maxMessages: 2, maxInputs: 2 });
  const response = await app.post(path, { model: "chatty", [field]: [true, true, true] });
  expect(await failure(response)).toEqual([
    400,
    field,
    expect.stringContaining(`'${field}' is a list of 3; this node takes at most 2`),
  ]);
});

test("a body that does not arrive in time is a 408 that closes the connection", async () => {
  const app = testApp({ bodyTimeoutMs: 10, callerLimits: { concurrency: 1 } });
  const silent = () =>
    new Request("http://localhost/v1/embeddings", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new ReadableStream(),
    });
  for (let again = 0; again < 2; again++) {
    const response = await app.handle(silent());
    expect(response.headers.get("connection")).toBe("close");
    expect(await failure(response)).toEqual([
      408,
      null,
      expect.stringContaining("did not arrive within the 0.01 s"),
    ]);
  }
});

describe("a body of thousands of chunks of a byte", () => {
  const form = [
    '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n',
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n',
    `${" ".repeat(2000)}\r\n--b--\r\n`,
  ].join("");

  test.each([
    ["/v1/embeddings", "application/json", `{"model":"vectors","input":"${"a".repeat(2000)}"}`],
    ["/v1/files", "multipart/form-data; boundary=b", form],
  ])("lets others have their turn: %s", async (path, type, text) => {
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (at === bytes.length) controller.close();
        else controller.enqueue(bytes.subarray(at, ++at));
      },
    });
    let turns = 0;
    const ticking = (): void => {
      turns++;
      if (at < bytes.length) setImmediate(ticking);
    };
    setImmediate(ticking);
    const headers = { "content-type": type };
    const request = new Request(`http://localhost${path}`, { method: "POST", headers, body });
    expect((await testApp().handle(request)).status).toBe(200);
    expect(turns).toBeGreaterThan(100);
  });
});
