import { describe, expect, test } from "bun:test";
import { errorFields } from "../../src/cli/log.ts";
import { NodeError } from "../../src/core/errors.ts";
import { finish } from "../support/scripted-engines.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { waitFor } from "../support/wait-for.ts";

const secret = "hunter2";
const messages = [{ role: "user", content: `my secret is ${secret}` }];
const chat = { model: "chatty", messages };

/** The log as it is written. */
const written = (app: TestApp): string =>
  JSON.stringify(app.log, (key, value: unknown) => (key === "error" ? errorFields(value) : value));

const failures: [string, number, (app: TestApp) => Promise<Response>][] = [
  ["malformed JSON", 400, (app) => app.post("/v1/chat/completions", `{"messages": ${secret}`)],
  [
    "a wrong field",
    400,
    (app) => app.post("/v1/chat/completions", { ...chat, stop: { a: secret } }),
  ],
  ["an unknown model", 500, (app) => app.post("/v1/chat/completions", { ...chat, model: "x" })],
  [
    "an engine that fails with the prompt in its error",
    500,
    (app) => {
      app.chat.script(Object.assign(new Error("decode failed"), { prompt: secret }));
      return app.post("/v1/chat/completions", chat);
    },
  ],
  [
    "an engine that fails on what it cannot parse",
    500,
    (app) => {
      app.chat.script(new SyntaxError(`JSON Parse error: Unexpected identifier "${secret}"`));
      return app.post("/v1/chat/completions", chat);
    },
  ],
  [
    "a stream that breaks off",
    200,
    (app) => {
      const cause = Object.assign(new Error("reset"), { body: secret });
      app.chat.script(
        { type: "text", text: secret },
        new NodeError("unavailable", "Gone.", { cause }),
      );
      return app.post("/v1/chat/completions", { ...chat, stream: true });
    },
  ],
  [
    "a text that is too long",
    400,
    (app) => app.post("/v1/embeddings", { model: "vectors", input: `${secret} `.repeat(20) }),
  ],
  [
    "a field that is not acted on",
    200,
    (app) => {
      app.chat.script(finish);
      return app.post("/v1/chat/completions", { ...chat, other: secret });
    },
  ],
];

describe("the log", () => {
  test.each(failures)("has no trace of a request after %s", async (_, status, ask) => {
    const app = testApp();
    const response = await ask(app);
    await response.text();
    expect(response.status).toBe(status);
    await waitFor("a line", () => app.log.length > 0);
    expect(written(app)).not.toContain(secret);
  });

  test("has no trace of a key, right or wrong", async () => {
    const app = testApp({ keys: ["right-hunter2-key"] });
    for (const key of ["right-hunter2-key", "wrong-hunter2-key"]) {
      const headers = { authorization: `Bearer ${key}` };
      await app.post("/v1/embeddings", { model: "vectors", input: "a" }, headers);
    }
    expect(written(app)).not.toContain(secret);
  });

  test("has bounded names of fields that are not acted on", async () => {
    const app = testApp();
    app.chat.script(finish);
    await app.post("/v1/chat/completions", { ...chat, ["x".repeat(100_000)]: 1 });
    expect(written(app).length).toBeLessThan(2000);
  });
});

describe("with log_prompts the log", () => {
  const app = () => testApp({ logPrompts: true });
  const said = ({ log }: TestApp) =>
    log
      .filter(({ message }) => message === "a prompt" || message === "an answer")
      .map(({ level, message, fields }) => [level, message, fields]);
  const headers = { "x-request-id": "trace-1" };

  test.each([true, false])(
    "has what is asked and answered in chat; streamed: %p",
    async (stream) => {
      const asked = app();
      asked.chat.script(
        { type: "reasoning", text: "Hm. " },
        { type: "text", text: "Hello" },
        { type: "text", text: "!" },
        finish,
      );
      await (await asked.post("/v1/chat/completions", { ...chat, stream }, headers)).text();
      expect(said(asked)).toEqual([
        ["info", "a prompt", { id: "trace-1", model: "chatty", messages }],
        ["info", "an answer", { id: "trace-1", texts: ["Hm. Hello!"] }],
      ]);
    },
  );

  test("has what was sent of an answer that broke off", async () => {
    const asked = app();
    asked.chat.script({ type: "text", text: "Hel" }, new Error("broken"));
    await (await asked.post("/v1/chat/completions", { ...chat, stream: true }, headers)).text();
    expect(said(asked).at(-1)).toEqual(["info", "an answer", { id: "trace-1", texts: ["Hel"] }]);
  });

  test("has the texts of embeddings and of retrieval", async () => {
    const asked = app();
    await asked.post("/v1/embeddings", { model: "vectors", input: ["a"] }, headers);
    await asked.post("/v1/retrieve", { model: "vectors", messages }, headers);
    expect(said(asked)).toEqual([
      ["info", "a prompt", { id: "trace-1", model: "vectors", input: ["a"] }],
      ["info", "an answer", { id: "trace-1", vectors: 1, dimensions: 2, tokens: 1 }],
      ["info", "a prompt", { id: "trace-1", model: "vectors", messages }],
      ["info", "an answer", { id: "trace-1", texts: [] }],
    ]);
  });
});

describe("an answer about the node's own trouble", () => {
  const place = "/var/lib/paddock/collections/default.sqlite";
  const trouble = new NodeError(
    "unavailable",
    `The collection cannot be opened. Its file is ${place}; see https://ada:${secret}@host/.`,
  );

  test("names no path and no credential, whichever way it comes out", async () => {
    const app = testApp();
    app.repository.count = () => Promise.reject(trouble);
    app.repository.search = () => Promise.reject(trouble);
    app.chat.script(finish);
    const answers = [
      await app.get("/ready"),
      await app.post("/v1/retrieve", {
        model: "vectors",
        messages: [{ role: "user", content: "a" }],
      }),
      await app.post("/v1/chat/completions", {
        model: "chatty",
        messages: [{ role: "user", content: "a" }],
        rag: true,
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200]);
    for (const answer of answers) {
      const text = await answer.text();
      expect(text).toContain("Its file is (a path on the node)");
      expect(text).not.toContain(place);
      expect(text).not.toContain(secret);
    }
  });

  test("names no path of a model that cannot be loaded", async () => {
    const app = testApp();
    app.models.problems = () => ["The model 'm' cannot be loaded: /srv/models/m.gguf is cut off."];
    expect(await (await app.get("/ready")).json()).toEqual({
      status: "not ready",
      reasons: ["The model 'm' cannot be loaded: (a path on the node) is cut off."],
    });
  });

  test("says nothing of an error that nobody foresaw", async () => {
    const app = testApp();
    app.repository.count = () => Promise.reject(new Error(`unable to open ${place}`));
    expect(await (await app.get("/ready")).json()).toEqual({
      status: "not ready",
      reasons: ["The node's collection cannot be read."],
    });
  });
});
