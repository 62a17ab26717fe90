import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { BadRequestError, NotFoundError } from "openai";
import { fieldsOf } from "../../scripts/field-docs.ts";
import type { ResponseChange } from "../../src/core/ports/response-store.ts";
import { createApp } from "../../src/server/app.ts";
import { onAbort } from "../support/aborted.ts";
import { bareNode } from "../support/bare-node.ts";
import { decodeError } from "../support/decode.ts";
import { propertiesOf, unnamed } from "../support/field-examples.ts";
import { rejectionOf } from "../support/rejection.ts";
import { read } from "../support/repository-text.ts";
import { tempDir } from "../support/temp-dir.ts";
import { keptResponse } from "../support/test-responses.ts";
import { examples } from "./examples/stored-response.ts";

const resources = new AsyncDisposableStack();
let baseURL: string;
let client: OpenAI;
let responses: Awaited<ReturnType<typeof bareNode>>["services"]["responses"];

/** No model is needed to read what was kept. */
beforeAll(async () => {
  const folder = resources.use(await tempDir());
  const node = resources.use(
    await bareNode({ env: { PADDOCK_DATA_DIR: folder.path }, baseDir: folder.path }),
  );
  const server = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1", idleTimeout: 0 },
    fetch: createApp(node.services).fetch,
  });
  resources.defer(() => server.stop(true));
  ({ responses } = node.services);
  baseURL = `${server.url.origin}/v1`;
  client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
});
afterAll(async () => await resources.disposeAsync());

describe("the openai package, about a response that is kept,", () => {
  test("retrieves it, with its text", async () => {
    await responses.keep(keptResponse("resp_1"));
    const found = await client.responses.retrieve("resp_1");
    expect(found).toMatchObject({ ...keptResponse("resp_1").body, output_text: "Grüße aus Köln" });
    expect(await client.responses.retrieve("resp_1", { stream: false })).toMatchObject({
      id: "resp_1",
    });
  });

  test("asks for more of it", async () => {
    const results = [{ file_id: "file-1", filename: "a.md", score: 0.5, text: "A" }];
    const call = { type: "file_search_call", id: "fs_1", status: "completed", queries: ["?"] };
    const body = { id: "resp_2", object: "response", output: [{ ...call, results }] };
    await responses.keep(keptResponse("resp_2", { body }));
    const found = await client.responses.retrieve("resp_2", {
      include: ["file_search_call.results", "message.output_text.logprobs"],
    });
    expect(found.output).toMatchObject([{ results }]);
    expect((await client.responses.retrieve("resp_2")).output).toMatchObject([{ results: null }]);
  });

  test("is told that it is not streamed", async () => {
    await responses.keep(keptResponse("resp_1"));
    expect(await rejectionOf(client.responses.retrieve("resp_1", { stream: true }))).toBeInstanceOf(
      BadRequestError,
    );
  });

  test("deletes it", async () => {
    await responses.keep(keptResponse("resp_3"));
    await client.responses.delete("resp_3");
    const error = await rejectionOf(client.responses.retrieve("resp_3"));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ status: 404, type: "invalid_request_error" });
    expect(await rejectionOf(client.responses.delete("resp_3"))).toBeInstanceOf(NotFoundError);
  });

  test("walks through what it was asked with, page by page", async () => {
    const input = Array.from({ length: 45 }, (_, number) => ({
      ...{ id: `msg_${number}`, type: "message", role: "user" },
      content: [{ type: "input_text", text: String(number) }],
    }));
    await responses.keep(keptResponse("resp_4", { input }));
    const first = await client.responses.inputItems.list("resp_4");
    expect(first.data).toHaveLength(20);
    expect(first.hasNextPage()).toBe(true);
    const all = await Array.fromAsync(
      client.responses.inputItems.list("resp_4", { order: "asc", limit: 10 }),
    );
    expect<unknown>(all).toEqual(input);
  });

  test("cancels one that is made in the background, and no other", async () => {
    const { promise, reject } = Promise.withResolvers<ResponseChange>();
    const { ended } = await responses.start({
      response: keptResponse("resp_5"),
      caller: "anyone",
      work: (signal) => {
        onAbort(signal, () => reject(signal.reason));
        return promise;
      },
    });
    expect((await client.responses.cancel("resp_5")).status).toBe("cancelled");
    await ended;
    expect((await client.responses.retrieve("resp_5")).status).toBe("cancelled");
    await responses.keep(keptResponse("resp_6"));
    expect(await rejectionOf(client.responses.cancel("resp_6"))).toBeInstanceOf(BadRequestError);
  });
});

const rows = Object.entries(examples).flatMap(([operation, fields]) =>
  fields.map(([field, name, value]) => ({ operation, field, name, value })),
);

describe("parameters of stored responses", () => {
  test.each(rows)("are as their class says: $operation, $field $value is $name", async (asked) => {
    await responses.keep(keptResponse("resp_7"));
    const { value } = asked;
    const query = new URLSearchParams();
    for (const item of [value].flat()) {
      query.append(Array.isArray(value) ? `${asked.field}[]` : asked.field, String(item));
    }
    const path = asked.operation.replace("GET /v1", "").replace("{response_id}", "resp_7");
    const answer = await fetch(`${baseURL}${path}?${query}`);
    if (asked.name === "rejected") {
      expect(answer.status).toBe(400);
      expect((await decodeError(answer)).param).toStartWith(asked.field);
      return;
    }
    expect(answer.status).toBe(200);
    const ignored = answer.headers.get("x-paddock-ignored");
    if (asked.name === "ignored") expect(ignored).toStartWith(asked.field);
    else expect(ignored).toBeNull();
  });

  test.each([
    ["responses.d.ts", "ResponseRetrieveParamsBase", "getResponse"],
    ["input-items.d.ts", "InputItemListParams", "listResponseInputItems"],
  ])(
    "have every parameter of the openai package's types: %s: %s",
    async (file, type, operation) => {
      const types = await read(`node_modules/openai/resources/responses/${file}`);
      const fields = propertiesOf(types, type);
      expect(fields.length).toBeGreaterThan(0);
      expect(unnamed(fieldsOf(operation), fields)).toEqual([]);
    },
  );

  test("know everything that the openai package can ask to be included", async () => {
    const types = await read("node_modules/openai/resources/responses/responses.d.ts");
    const [, union = ""] = /^export type ResponseIncludable = (.*);$/m.exec(types) ?? [];
    const names = [...union.matchAll(/'([^']+)'/g)].map(([, name = ""]) => name);
    await responses.keep(keptResponse("resp_8"));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      expect((await fetch(`${baseURL}/responses/resp_8?include[]=${name}`)).status).toBe(200);
    }
  });
});
