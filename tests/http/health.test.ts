import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { NodeError } from "../../src/core/errors.ts";
import { Readiness } from "../../src/server/operations/node/schema.ts";
import { ResponseObject } from "../../src/server/operations/responses/schema.ts";
import { decode } from "../support/decode.ts";
import { documentsClient } from "../support/documents-client.ts";
import { finish, ScriptedChatEngine } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";
import { type TestAppOptions, testApp } from "../support/test-app.ts";
import { chatModel } from "../support/test-models.ts";
import { waitFor } from "../support/wait-for.ts";

const user = { role: "user", content: "Hello" };
const answer = async (response: Response) => [response.status, await response.json()];

describe("health", () => {
  test.each([false, true])("is alive whatever is ready: unprepared is %p", async (unprepared) => {
    expect(await answer(await testApp({ unprepared }).get("/health"))).toEqual([
      200,
      { status: "alive" },
    ]);
  });
});

describe("readiness", () => {
  test("is said when every model and the collection are ready", async () => {
    expect(await answer(await testApp().get("/ready"))).toEqual([
      200,
      { status: "ready", reasons: [] },
    ]);
  });

  test("is denied with a reason for each thing that is not", async () => {
    const app = testApp({ unprepared: true });
    const collection = "The node's collection is still being prepared.";
    const waiting = (...names: string[]) => [
      503,
      {
        status: "not ready",
        reasons: [...names.map((name) => `The model '${name}' is being prepared.`), collection],
      },
    ];
    expect(await answer(await app.get("/ready"))).toEqual(waiting("chatty", "vectors", "others"));
    app.models.add(chatModel("chatty", new ScriptedChatEngine()));
    expect(await answer(await app.get("/ready"))).toEqual(waiting("vectors", "others"));
  });

  test("is said while passages are still coming, and that they are", async () => {
    const app = testApp({ keys: ["a-good-key"] });
    app.retrieval.coming.expect("Passages are still coming.");
    expect(await answer(await app.get("/ready"))).toEqual([
      200,
      { status: "ready", reasons: ["Passages are still coming."] },
    ]);
    app.retrieval.coming.expect(undefined);
    expect(await answer(await app.get("/ready"))).toEqual([200, { status: "ready", reasons: [] }]);
  });

  test("is said while weights are made faster, and that they are", async () => {
    const notice = "The weights of the model 'chatty' are being made faster: 40 %.";
    const app = testApp({ coming: [notice] });
    expect(await answer(await app.get("/ready"))).toEqual([
      200,
      { status: "ready", reasons: [notice] },
    ]);
  });

  test("tells a stranger too that the collection is being prepared", async () => {
    const response = await testApp({ unprepared: true, keys: ["a-good-key"] }).get("/ready");
    expect((await decode(Readiness, response)).reasons.at(-1)).toBe(
      "The node's collection is still being prepared.",
    );
  });

  test("is denied while a model's queue is full, and given again when it is not", async () => {
    const app = testApp({ slots: 1, maxQueue: 1 });
    const held = Promise.withResolvers<void>();
    const ask = () => app.post("/v1/chat/completions", { model: "chatty", messages: [user] });
    app.chat.script(() => held.promise, finish).script(finish);
    const served = ask();
    await waitFor("the first to be served", () => app.chat.requests.length === 1);
    const line = Promise.withResolvers<void>();
    app.chat.line = line.promise;
    expect((await app.get("/ready")).status).toBe(200);
    const waits = ask();
    await waitFor("the second to wait", () => app.chat.requests.length === 2);
    expect(await answer(await app.get("/ready"))).toEqual([
      503,
      {
        status: "not ready",
        reasons: ["The queue of the model 'chatty' is full: 1 waiting, 1 being answered."],
      },
    ]);
    held.resolve();
    line.resolve();
    expect([(await served).status, (await waits).status]).toEqual([200, 200]);
    expect((await app.get("/ready")).status).toBe(200);
  });

  test("is denied by a node that stops, which answers nothing else but health", async () => {
    const app = testApp({ draining: true });
    expect(await answer(await app.get("/ready"))).toEqual([
      503,
      { status: "not ready", reasons: ["The node is stopping."] },
    ]);
    expect((await app.get("/health")).status).toBe(200);
    const refused = await app.post("/v1/embeddings", { model: "vectors", input: "a" });
    expect([refused.status, refused.headers.get("connection")]).toEqual([503, "close"]);
    expect(await refused.json()).toMatchObject({ error: { code: "unavailable" } });
  });

  test("tells a stranger nothing of the store, where keys are wanted", async () => {
    const keys = ["a-good-key"];
    const reason = "Qdrant at http://qdrant.internal:6333 cannot be reached (refused).";
    const reasonsOf = async (options: TestAppOptions, headers: Record<string, string> = {}) => {
      const app = testApp(options);
      app.retrieval.unavailable(new NodeError("unavailable", reason));
      const response = await app.get("/ready", headers);
      expect(response.status).toBe(503);
      return (await decode(Readiness, response)).reasons.at(-1);
    };
    const unprepared = true;
    expect(await reasonsOf({ unprepared, keys })).toBe(
      "The node's collection is not ready. A caller with a key is told why, and the log has it.",
    );
    const known = { authorization: "Bearer a-good-key" };
    expect(await reasonsOf({ unprepared, keys }, known)).toBe(reason);
    expect(await reasonsOf({ unprepared })).toBe(reason);
  });

  test("is not said while the registry of documents hangs, whose disk may be away", async () => {
    const app = testApp({ documents: { patienceMs: 1 } });
    const hanging = Promise.withResolvers<void>();
    let asked = 0;
    app.registry.check = () => {
      asked++;
      return hanging.promise;
    };
    for (const _ of [1, 2]) {
      expect(await answer(await app.get("/ready"))).toEqual([
        503,
        {
          status: "not ready",
          reasons: [expect.stringContaining("registry of documents does not answer")],
        },
      ]);
    }
    expect(asked).toBe(1);
    hanging.resolve();
    await waitFor("the node to be ready", async () => (await app.get("/ready")).status === 200);
  });

  test("is not said while the stored responses hang, for which every response would wait", async () => {
    const app = testApp({ responses: { patienceMs: 1 } });
    const hanging = Promise.withResolvers<void>();
    app.responses.store.check = () => hanging.promise;
    expect(await answer(await app.get("/ready"))).toEqual([
      503,
      {
        status: "not ready",
        reasons: [expect.stringContaining("The stored responses do not answer")],
      },
    ]);
    hanging.reject(new Error("the file is damaged"));
    await waitFor("the node to be ready", async () => (await app.get("/ready")).status === 200);
  });

  test("says what of the stores cannot be used, while the rest is answered, and no stranger where", async () => {
    const keys = ["a-good-key"];
    const app = testApp({ keys });
    const why = "Stored responses cannot be used: it is damaged.";
    app.responses.store.check = async () => {
      throw new NodeError("unavailable", why);
    };
    const known = { authorization: "Bearer a-good-key" };
    expect(await answer(await app.get("/ready", known))).toEqual([
      200,
      { status: "ready", reasons: [why] },
    ]);
    const hidden = "Stored documents or responses cannot be used. A caller with a key is told why.";
    expect(await answer(await app.get("/ready"))).toEqual([
      200,
      { status: "ready", reasons: [hidden] },
    ]);
  });

  test("says of which stores the last change could not be written, until one is", async () => {
    await using folder = await tempDir();
    const paths = ["responses", "documents"].map((name) => join(folder.path, `${name}.sqlite`));
    const [responses = ""] = paths;
    const app = testApp({ responses: { path: responses }, documents: { folder: folder.path } });
    const client = documentsClient(app);
    const body = { model: "chatty", input: "Hi" };
    const ask = async () => {
      app.chat.script(finish);
      return (await decode(ResponseObject, await app.post("/v1/responses", body))).store;
    };
    const reasons = async () =>
      (await decode(Readiness, await app.get("/ready"))).reasons.join(" ");
    const change = (sql: string) => {
      for (const path of paths) {
        using database = new Database(path);
        database.run(sql.replaceAll("$", path === responses ? "responses" : "files"));
      }
    };
    expect(await ask()).toBe(true);
    await client.file("Llamas hum.");
    expect(await reasons()).toBe("");
    // Readable as before, as on a full disk.
    change("create trigger full before insert on $ begin select raise(abort, 'it is full'); end");
    expect(await ask()).toBe(false);
    expect(await reasons()).toMatch(/^Stored responses cannot be written: it is full/);
    expect((await client.upload("Llamas hum.")).status).toBe(503);
    expect(await reasons()).toContain("The registry of documents cannot be written: it is full");
    change("drop trigger full");
    expect(await ask()).toBe(true);
    await client.file("Llamas hum.");
    expect(await reasons()).toBe("");
  });

  test("and health want no key", async () => {
    const app = testApp({ keys: ["a-good-key"] });
    expect((await app.get("/health")).status).toBe(200);
    expect((await app.get("/ready")).status).toBe(200);
  });
});
