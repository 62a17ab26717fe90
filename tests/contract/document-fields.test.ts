import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fieldsOf } from "../../scripts/field-docs.ts";
import { decodeError } from "../support/decode.ts";
import {
  type FieldExample,
  propertiesOf,
  rowsOf,
  withoutExample,
} from "../support/field-examples.ts";
import { read } from "../support/repository-text.ts";
import { type RunningDocuments, runningDocuments } from "../support/running-documents.ts";
import { examples } from "./examples/document.ts";

const operationIds = {
  "POST /v1/files": "uploadFile",
  "GET /v1/files": "listFiles",
  "POST /v1/vector_stores": "createVectorStore",
  "POST /v1/vector_stores/{vector_store_id}": "updateVectorStore",
  "GET /v1/vector_stores": "listVectorStores",
  "POST /v1/vector_stores/{vector_store_id}/search": "searchVectorStore",
  "POST /v1/vector_stores/{vector_store_id}/files": "addVectorStoreFile",
  "GET /v1/vector_stores/{vector_store_id}/files": "listVectorStoreFiles",
  "POST /v1/vector_stores/{vector_store_id}/files/{file_id}": "updateVectorStoreFile",
  "POST /v1/vector_stores/{vector_store_id}/file_batches": "createFileBatch",
};

interface Row {
  operation: string;
  field: string;
  value: unknown;
  example: string;
}

const ofClass = (use: FieldExample[1]): Row[] =>
  Object.entries(examples).flatMap(([operation, rows]) =>
    rowsOf(rows, use).map((row) => ({ ...row, operation })),
  );

let running: RunningDocuments;
const names = new Map<string, string>();

beforeAll(async () => {
  running = await runningDocuments();
  const { client } = running;
  const store = await client.store({ name: "fields" });
  const member = await client.taken(store.id, "llamas hum", "llamas.md");
  const batch = await client.batch(store.id, { file_ids: [member.id] });
  names.set("store", store.id);
  names.set("member", member.id);
  names.set("batch", batch.id);
  names.set("file", await client.file("bees buzz", "bees.md"));
});
afterAll(async () => await running[Symbol.asyncDispose]());

/** What a request needs besides the field. */
const base: Readonly<Record<string, object>> = {
  "POST /v1/vector_stores/{vector_store_id}/search": { query: "llamas" },
  "POST /v1/vector_stores/{vector_store_id}/files": { file_id: "$file" },
  "POST /v1/vector_stores/{vector_store_id}/files/{file_id}": { attributes: {} },
  "POST /v1/vector_stores/{vector_store_id}/file_batches": { file_ids: ["$file"] },
};

const named = (text: string): string =>
  text.replace(/\$(\w+)/g, (_, name: string) => names.get(name) ?? name);

const placed = (field: string, value: unknown): object => {
  const [outer = "", inner] = field.split(".");
  return inner === undefined
    ? { [outer]: value }
    : { [outer]: { ...required[outer], [inner]: value } };
};
const required: Readonly<Record<string, object>> = {
  expires_after: { anchor: "last_active_at", days: 1 },
};

async function send({ operation, field, example }: Row): Promise<Response> {
  const [method = "", template = ""] = operation.split(" ");
  const path = template
    .replace("/v1", "")
    .replace("{vector_store_id}", names.get("store") ?? "")
    .replace("{file_id}", names.get("member") ?? "")
    .replace("{batch_id}", names.get("batch") ?? "");
  const value: unknown = JSON.parse(named(example));
  if (method === "GET") {
    return await running.client.send(
      "GET",
      `${path}?${field}=${encodeURIComponent(String(value))}`,
    );
  }
  if (path === "/files") return await sendForm(field, value);
  const whole = JSON.parse(named(JSON.stringify(base[operation] ?? {})));
  if (field === "files") delete whole.file_ids;
  return await running.client.send(method, path, { ...whole, ...placed(field, value) });
}

/** As openai's package writes fields within fields. */
async function sendForm(field: string, value: unknown): Promise<Response> {
  const form = new FormData();
  const fields = new Map<string, string>([["purpose", "assistants"]]);
  if (typeof value === "object" && value !== null) {
    for (const [key, part] of Object.entries(value)) fields.set(`${field}[${key}]`, String(part));
  } else if (field !== "file") fields.set(field, String(value));
  form.append("file", new Blob([field === "file" ? String(value) : "text"]), "a.md");
  for (const [key, text] of fields) form.append(key, text);
  return await running.app.handle(
    new Request("http://localhost/v1/files", { method: "POST", body: form }),
  );
}

describe("a field of a request about documents", () => {
  test.each([...ofClass("honoured"), ...ofClass("accepted")])(
    "$operation takes $field: $example",
    async (asked) => {
      const response = await send(asked);
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      expect(response.headers.get("x-paddock-ignored")).toBeNull();
    },
  );

  test.each(ofClass("ignored"))("$operation names $field as ignored", async (asked) => {
    const response = await send(asked);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-paddock-ignored")).toBe(asked.field);
  });

  test.each(ofClass("rejected"))("$operation rejects $field: $example", async (asked) => {
    const response = await send(asked);
    expect(response.status).toBe(400);
    expect((await decodeError(response)).param).toStartWith(asked.field);
  });
});

test.each(Object.entries(operationIds))("%s has an example of what its schema says", (path, id) => {
  expect(withoutExample(fieldsOf(id), examples[path] ?? [])).toEqual([]);
});

describe("no field of the openai package's types is unnamed", () => {
  const files = "node_modules/openai/resources/files.d.ts";
  const stores = "node_modules/openai/resources/vector-stores";
  test.each([
    [files, "FileCreateParams", "uploadFile"],
    [files, "FileListParams", "listFiles"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreCreateParams", "createVectorStore"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreUpdateParams", "updateVectorStore"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreListParams", "listVectorStores"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreSearchParams", "searchVectorStore"],
    [`${stores}/files.d.ts`, "FileCreateParams", "addVectorStoreFile"],
    [`${stores}/files.d.ts`, "FileListParams", "listVectorStoreFiles"],
    [`${stores}/files.d.ts`, "FileUpdateParams", "updateVectorStoreFile"],
    [`${stores}/file-batches.d.ts`, "FileBatchCreateParams", "createFileBatch"],
    [`${stores}/file-batches.d.ts`, "FileBatchListFilesParams", "listFileBatchFiles"],
  ])("%s: %s", async (path, type, operation) => {
    const fields = propertiesOf(await read(path), type);
    // A form has the fields within it under names of their own.
    const named = fieldsOf(operation).map(({ path }) => path.replace(/^(\w+)\[.*$/, "$1"));
    // Some lists add nothing to what every page has, and some parameters stand in the path.
    const known = new Set([...named, "vector_store_id"]);
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter((field) => !known.has(field))).toEqual([]);
  });
});
