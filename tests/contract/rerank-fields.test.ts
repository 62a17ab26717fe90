import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { RerankRequest } from "../../src/server/operations/rerank/schema.ts";
import { decodeError } from "../support/decode.ts";
import { testApp } from "../support/test-app.ts";

const read = (path: string): Promise<string> =>
  Bun.file(join(import.meta.dir, "..", "..", path)).text();

const tableRow = /^\| `(?<field>[^`]+)` \| `(?<name>\w+)` \| `(?<example>[^`]+)` \| [^|]*\|$/;
const lines = (await read("docs/reference/rerank-fields.md"))
  .split("\n")
  .filter((line) => line.startsWith("| `"));
const rows = lines.map((line) => {
  const { field = "", name = "", example = "" } = tableRow.exec(line)?.groups ?? {};
  return { field, name, example };
});
const ofClass = (wanted: string) => rows.filter(({ name }) => name === wanted);

const base = { model: "judge", query: "other letters", documents: ["zzz", "letters, rather"] };
/** What is the same where the field is not there: a field that must be has another value then. */
const without = (field: string): object =>
  Object.fromEntries(Object.entries(base).filter(([name]) => name !== field || name in required));
const required: Readonly<Record<string, unknown>> = base;

async function outcome(body: object) {
  const app = testApp({ reranks: true });
  const response = await app.post("/v1/rerank", body);
  const text = (await response.text()).replace(/"id":"[^"]*"/, "");
  const asked = app.reranker.requests.map(({ question, passages, options }) => {
    const { signal: _, onStart: __, ...rest } = options;
    return { question, passages, rest };
  });
  return {
    ignored: response.headers.get("x-paddock-ignored"),
    seen: { status: response.status, asked, text },
  };
}

describe("the handbook's table of fields to rerank", () => {
  test("has a class and an example in every row", () => {
    expect(lines.filter((line) => !tableRow.test(line))).toEqual([]);
    for (const name of ["honoured", "accepted", "ignored", "refused"]) {
      expect(ofClass(name)).not.toEqual([]);
    }
  });

  test.each(ofClass("honoured"))("honours $field: $example", async ({ field, example }) => {
    const { ignored, seen } = await outcome({ ...base, [field]: JSON.parse(example) });
    expect([seen.status, ignored]).toEqual([200, null]);
    // There is one such model.
    if (field === "model") return;
    expect(seen).not.toEqual((await outcome(without(field))).seen);
  });

  test.each(ofClass("accepted"))("accepts $field: $example", async ({ field, example }) => {
    const { ignored, seen } = await outcome({ ...base, [field]: JSON.parse(example) });
    expect([seen.status, ignored]).toEqual([200, null]);
    expect(seen).toEqual((await outcome(without(field))).seen);
  });

  test.each(ofClass("ignored"))("names $field as ignored", async ({ field, example }) => {
    const { ignored, seen } = await outcome({ ...base, [field]: JSON.parse(example) });
    expect([seen.status, ignored]).toEqual([200, field]);
    expect(seen).toEqual((await outcome(without(field))).seen);
  });

  test.each(ofClass("refused"))("refuses $field: $example", async ({ field, example }) => {
    const app = testApp({ reranks: true });
    const response = await app.post("/v1/rerank", { ...base, [field]: JSON.parse(example) });
    expect(response.status).toBe(400);
    expect((await decodeError(response)).param).toStartWith(field);
    expect(app.reranker.requests).toEqual([]);
  });
});

describe("the handbook's table of fields to rerank has a row for every field", () => {
  const named = new Set(rows.map(({ field }) => field));

  test.each([
    "node_modules/cohere-ai/serialization/client/requests/RerankRequest.d.ts",
    "node_modules/cohere-ai/serialization/resources/v2/client/requests/V2RerankRequest.d.ts",
  ])("of Cohere's package: %s", async (path) => {
    const [, body = ""] = /interface Raw \{\n(.*?)^ {4}\}/ms.exec(await read(path)) ?? [];
    const fields = [...body.matchAll(/^ {8}(\w+)\??:/gm)].map(([, field = ""]) => field);
    expect(fields.length).toBeGreaterThan(5);
    expect(fields.filter((field) => !named.has(field))).toEqual([]);
  });

  test("of the node's own schema", () => {
    const fields = Object.keys(RerankRequest.properties);
    expect(fields.filter((field) => !named.has(field))).toEqual([]);
  });
});
