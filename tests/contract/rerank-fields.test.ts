import { expect, test } from "bun:test";
import { fieldsOf } from "../../scripts/field-docs.ts";
import { decodeError } from "../support/decode.ts";
import { unnamed, walkFields } from "../support/field-examples.ts";
import { read } from "../support/repository-text.ts";
import { testApp } from "../support/test-app.ts";
import { examples } from "./examples/rerank.ts";

const described = fieldsOf("rerank");
const app = testApp({ reranks: true });

const base: Readonly<Record<string, unknown>> = {
  model: "judge",
  query: "other letters",
  documents: ["zzz", "letters, rather"],
};

walkFields({
  called: "reranking",
  examples,
  described,
  // A field that must be there has another value instead.
  requestsWith: (field, value) => ({ with: { ...base, [field]: value }, without: base, as: field }),
  async outcome(body) {
    app.reranker.requests.splice(0);
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
  },
  async expectRejection(body, as) {
    app.reranker.requests.splice(0);
    const response = await app.post("/v1/rerank", body);
    expect(response.status).toBe(400);
    expect((await decodeError(response)).param).toStartWith(as);
    expect(app.reranker.requests).toEqual([]);
  },
  // There is one such model.
  isAlike: (field) => field === "model",
});

test.each([
  "node_modules/cohere-ai/serialization/client/requests/RerankRequest.d.ts",
  "node_modules/cohere-ai/serialization/resources/v2/client/requests/V2RerankRequest.d.ts",
])("no field of Cohere's package is unnamed: %s", async (path) => {
  const types = await read(path);
  const [, body = ""] = /interface Raw \{\n(.*?)^ {4}\}/ms.exec(types) ?? [];
  const fields = [...body.matchAll(/^ {8}(\w+)\??:/gm)].map(([, field = ""]) => field);
  expect(fields.length).toBeGreaterThan(5);
  expect(unnamed(described, fields)).toEqual([]);
});
