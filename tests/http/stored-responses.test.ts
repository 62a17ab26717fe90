import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ResponseChange } from "../../src/core/ports/response-store.ts";
import { configuredKeyId } from "../../src/server/middleware/authentication.ts";
import { ignoredHeader } from "../../src/server/middleware/ignored-fields.ts";
import { ListedItem } from "../../src/server/operations/responses/schema.ts";
import { StoredResponse } from "../../src/server/operations/stored-responses.ts";
import { pageSchema } from "../../src/server/wire/page-schema.ts";
import { onAbort } from "../support/aborted.ts";
import { decode, decodeError } from "../support/decode.ts";
import { finish } from "../support/scripted-engines.ts";
import { tempDir } from "../support/temp-dir.ts";
import { type TestApp, testApp } from "../support/test-app.ts";
import { keptResponse } from "../support/test-responses.ts";

const keys = { keys: ["key-of-ada", "key-of-bob"] };
const as = (name: "ada" | "bob") => ({ authorization: `Bearer key-of-${name}` });
/** As the node calls the first key of its configuration. */
const ada = configuredKeyId("key-of-ada");

const remove = (app: TestApp, id: string, headers = {}): Promise<Response> =>
  app.handle(new Request(`http://localhost/v1/responses/${id}`, { method: "DELETE", headers }));

const cancel = (app: TestApp, id: string, headers = {}): Promise<Response> =>
  app.handle(
    new Request(`http://localhost/v1/responses/${id}/cancel`, { method: "POST", headers }),
  );

async function appWith(...ids: string[]): Promise<TestApp> {
  const app = testApp();
  for (const id of ids) await app.responses.responses.keep(keptResponse(id));
  return app;
}

describe("a kept response", () => {
  test("is answered as it was made", async () => {
    const app = await appWith("resp_1");
    const answer = await app.get("/v1/responses/resp_1");
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual(keptResponse("resp_1").body);
  });

  test("is answered with what has become of it since", async () => {
    const app = testApp();
    const failure = { code: "server_error", message: "It broke at /home/ada/model.gguf." };
    await app.responses.responses.keep(keptResponse("resp_1", { status: "failed", failure }));
    const found = await decode(StoredResponse, await app.get("/v1/responses/resp_1"));
    expect(found.status).toBe("failed");
    expect(found.error?.code).toBe("server_error");
    expect(found.error?.message).not.toContain("/home/ada");
  });

  test("takes a place of its own while it is read, beside those of answers", async () => {
    const app = testApp({ callerLimits: { concurrency: 2 } });
    await app.responses.responses.keep(keptResponse("resp_1"));
    const read = async () => (await app.get("/v1/responses/resp_1")).status;
    const statuses = await Promise.all([read(), read(), read(), read()]);
    expect(statuses.toSorted()).toEqual([200, 200, 429, 429]);
    expect(await read()).toBe(200);
  });

  test("takes one of a few places also where there is no limit", async () => {
    const app = await appWith("resp_1");
    const read = async () => (await app.get("/v1/responses/resp_1")).status;
    const statuses = await Promise.all(Array.from({ length: 40 }, read));
    expect(statuses.filter((status) => status === 429).length).toBe(8);
  });

  test("is gone when it is deleted", async () => {
    const app = await appWith("resp_1", "resp_2");
    const answer = await remove(app, "resp_1");
    expect(await answer.json()).toEqual({ id: "resp_1", object: "response", deleted: true });
    expect((await app.get("/v1/responses/resp_1")).status).toBe(404);
    expect((await remove(app, "resp_1")).status).toBe(404);
    expect((await app.get("/v1/responses/resp_2")).status).toBe(200);
  });

  test("stays its own key's when the list of keys changes", async () => {
    await using folder = await tempDir();
    const path = join(folder.path, "responses.sqlite");
    const first = testApp({ ...keys, responses: { path } });
    first.chat.script(finish);
    const asked = { model: "chatty", input: "Hi" };
    const answer = await first.post("/v1/responses", asked, as("ada"));
    const { id } = await decode(StoredResponse, answer);
    const withKeys = (...list: string[]) => testApp({ keys: list, responses: { path } });
    const read = async (app: TestApp, name: "ada" | "bob") =>
      (await app.get(`/v1/responses/${id}`, as(name))).status;
    expect(await read(withKeys("key-of-bob"), "bob")).toBe(404);
    expect(await read(withKeys("key-of-bob", "key-of-ada"), "bob")).toBe(404);
    expect(await read(withKeys("key-of-bob", "key-of-ada"), "ada")).toBe(200);
  });

  test("is its own key's alone, and for others as if it were not there", async () => {
    const app = testApp(keys);
    await app.responses.responses.keep(keptResponse("resp_1", { owner: ada }));
    await app.responses.responses.keep(keptResponse("resp_open"));
    const paths = ["/v1/responses/resp_1", "/v1/responses/resp_1/input_items"];
    for (const path of paths) {
      expect((await app.get(path, as("ada"))).status).toBe(200);
      const other = await app.get(path, as("bob"));
      expect(other.status).toBe(404);
      expect((await decodeError(other)).message).toBe("Response with id 'resp_1' not found.");
      expect((await app.get(path)).status).toBe(401);
    }
    expect((await cancel(app, "resp_1", as("bob"))).status).toBe(404);
    expect((await remove(app, "resp_1", as("bob"))).status).toBe(404);
    expect((await app.get("/v1/responses/resp_open", as("bob"))).status).toBe(404);
    expect((await remove(app, "resp_1", as("ada"))).status).toBe(200);
  });

  test("that is not there is answered as OpenAI's API does", async () => {
    const app = testApp();
    for (const answer of [
      await app.get("/v1/responses/resp_1"),
      await app.get("/v1/responses/resp_1/input_items"),
      await remove(app, "resp_1"),
      await cancel(app, "resp_1"),
    ]) {
      expect(answer.status).toBe(404);
      expect(await answer.json()).toEqual({
        error: {
          message: "Response with id 'resp_1' not found.",
          type: "invalid_request_error",
          param: null,
          code: null,
        },
      });
    }
  });

  test("is not there on a node that keeps none", async () => {
    const app = testApp({ responses: { keepForMs: 0 } });
    expect((await app.get("/v1/responses/resp_1")).status).toBe(404);
  });

  test("is not streamed, and the refusal says what to do", async () => {
    const app = await appWith("resp_1");
    const refused = await app.get("/v1/responses/resp_1?stream=true");
    expect(refused.status).toBe(400);
    expect(await decodeError(refused)).toMatchObject({
      param: "stream",
      message: expect.stringContaining("retry until"),
    });
    expect((await app.get("/v1/responses/resp_1?stream=false")).status).toBe(200);
    expect((await app.get("/v1/responses/resp_1?stream=perhaps")).status).toBe(400);
  });
});

describe("what a kept response shows", () => {
  const results = [{ file_id: "file-1", filename: "a.md", score: 0.5, text: "A", attributes: {} }];
  const search = {
    type: "file_search_call",
    id: "fs_1",
    status: "completed",
    queries: [],
    results,
  };
  const text = { type: "output_text", text: "A", annotations: [], logprobs: [{ token: "A" }] };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [text] };
  const { logprobs: _, ...plainText } = text;

  async function shown(query: string): Promise<{ output: unknown; ignored: string | null }> {
    const app = testApp();
    const body = { id: "resp_1", object: "response", output: [search, message] };
    await app.responses.responses.keep(keptResponse("resp_1", { body }));
    const answer = await app.get(`/v1/responses/resp_1${query}`);
    const { output }: { output: unknown } = Object(await answer.json());
    return { output, ignored: answer.headers.get(ignoredHeader) };
  }

  test("are the results of searches and log probabilities where they are asked for", async () => {
    expect(await shown("")).toEqual({
      output: [
        { ...search, results: null },
        { ...message, content: [plainText] },
      ],
      ignored: null,
    });
    const include = "include[]=file_search_call.results&include[]=message.output_text.logprobs";
    expect((await shown(`?${include}`)).output).toEqual([search, message]);
    expect((await shown("?include=file_search_call.results")).output).toEqual([
      search,
      { ...message, content: [plainText] },
    ]);
  });

  test("is nothing that this node has not, which is said", async () => {
    const { ignored } = await shown("?include[0]=reasoning.encrypted_content&starting_after=4");
    expect(ignored?.split(", ").toSorted()).toEqual(["include[0]", "starting_after"]);
  });

  test("is refused by name where there is no such thing", async () => {
    const app = await appWith("resp_1");
    const refused = await app.get("/v1/responses/resp_1?include[]=everything");
    expect(refused.status).toBe(400);
    expect((await decodeError(refused)).param).toBe("include[0]");
    const many = Array.from({ length: 40 }, () => "include[]=file_search_call.results").join("&");
    expect((await app.get(`/v1/responses/resp_1?${many}`)).status).toBe(400);
  });
});

describe("the input items of a kept response", () => {
  const input = Array.from({ length: 25 }, (_, number) => ({ id: `msg_${number}` }));
  const idsOf = async (app: TestApp, query: string) => {
    const answer = await app.get(`/v1/responses/resp_1/input_items${query}`);
    const page = await decode(pageSchema(ListedItem), answer);
    return { ...page, data: page.data.map(({ id }) => Number(id.slice(4))) };
  };
  const numbers = (from: number, to: number) => {
    const step = from < to ? 1 : -1;
    return Array.from({ length: Math.abs(to - from) + 1 }, (_, at) => from + at * step);
  };

  async function appWithInput(): Promise<TestApp> {
    const app = testApp();
    await app.responses.responses.keep(keptResponse("resp_1", { input }));
    return app;
  }

  test("are listed in pages, the last ones first", async () => {
    const app = await appWithInput();
    expect(await idsOf(app, "")).toEqual({
      object: "list",
      data: numbers(24, 5),
      first_id: "msg_24",
      last_id: "msg_5",
      has_more: true,
    });
    expect(await idsOf(app, "?after=msg_5")).toMatchObject({
      data: numbers(4, 0),
      has_more: false,
    });
  });

  test("are listed in their order, with as many a page as asked for", async () => {
    const app = await appWithInput();
    const page = (data: number[], has_more: boolean) => ({ data, has_more });
    expect(await idsOf(app, "?order=asc&limit=3")).toMatchObject(page([0, 1, 2], true));
    expect(await idsOf(app, "?order=asc&limit=3&after=msg_21")).toMatchObject(
      page([22, 23, 24], false),
    );
    expect(await idsOf(app, "?order=asc&limit=2&before=msg_3")).toMatchObject(page([1, 2], true));
    expect(await idsOf(app, "?order=asc&after=msg_3&before=msg_3")).toMatchObject(page([], false));
    expect(await idsOf(app, "?limit=100")).toMatchObject(page(numbers(24, 0), false));
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["order=up", "order"],
    ["after=msg_99", "after"],
  ])("are refused with ?%s, by the parameter's name", async (query, param) => {
    const app = await appWithInput();
    const refused = await app.get(`/v1/responses/resp_1/input_items?${query}`);
    expect(refused.status).toBe(400);
    expect((await decodeError(refused)).param).toBe(param);
  });
});

describe("a response that is made in the background", () => {
  test("is cancelled, and stays so", async () => {
    const app = testApp();
    const { promise, reject } = Promise.withResolvers<ResponseChange>();
    const { ended } = await app.responses.responses.start({
      response: keptResponse("resp_1"),
      caller: "anyone",
      work: (signal) => {
        onAbort(signal, () => reject(signal.reason));
        return promise;
      },
    });
    const answer = await cancel(app, "resp_1");
    expect(answer.status).toBe(200);
    expect(await decode(StoredResponse, answer)).toMatchObject({ status: "cancelled" });
    await ended;
    const again = await cancel(app, "resp_1");
    expect(await decode(StoredResponse, again)).toMatchObject({ status: "cancelled", error: null });
  });

  test("is the only kind that can be cancelled", async () => {
    const app = await appWith("resp_1");
    const refused = await cancel(app, "resp_1");
    expect(refused.status).toBe(400);
    expect((await decodeError(refused)).message).toStartWith(
      "Cannot cancel a synchronous response",
    );
  });
});
