import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { decodeError } from "../support/decode.ts";
import { type RunningDocuments, runningDocuments } from "../support/running-documents.ts";

const read = (path: string): Promise<string> =>
  Bun.file(join(import.meta.dir, "..", "..", path)).text();

const row = /^\| `(?<field>[^`]+)` \| `(?<name>\w+)` \| `(?<example>[^`]+)` \| (?<why>[^|]*) ?\|$/;

interface Row {
  operation: string;
  field: string;
  name: string;
  example: string;
}

const sections = (await read("docs/reference/document-fields.md")).split(/^## /m).slice(1);
const lines = sections.flatMap((section) => {
  const [operation = "", ...rest] = section.split("\n");
  return rest.filter((line) => line.startsWith("| `")).map((line) => ({ operation, line }));
});
const rows: Row[] = lines.map(({ operation, line }) => {
  const { field = "", name = "", example = "" } = row.exec(line)?.groups ?? {};
  return { operation, field, name, example };
});

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

const ofClass = (wanted: string): Row[] => rows.filter(({ name }) => name === wanted);

describe("the handbook's tables of fields of documents", () => {
  test("have a class and an example in every row", () => {
    expect(lines.filter(({ line }) => !row.test(line))).toEqual([]);
    for (const name of ["honoured", "accepted", "ignored", "refused"]) {
      expect(ofClass(name)).not.toEqual([]);
    }
  });

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

  test.each(ofClass("refused"))("$operation refuses $field: $example", async (asked) => {
    const response = await send(asked);
    expect(response.status).toBe(400);
    expect((await decodeError(response)).param).toStartWith(asked.field);
  });
});

describe("the tables have a row for every field of the openai package's types", () => {
  const files = "node_modules/openai/resources/files.d.ts";
  const stores = "node_modules/openai/resources/vector-stores";
  const store = "/v1/vector_stores/{vector_store_id}";
  test.each([
    [files, "FileCreateParams", "POST /v1/files"],
    [files, "FileListParams", "GET /v1/files"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreCreateParams", "POST /v1/vector_stores"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreUpdateParams", `POST ${store}`],
    [`${stores}/vector-stores.d.ts`, "VectorStoreListParams", "GET /v1/vector_stores"],
    [`${stores}/vector-stores.d.ts`, "VectorStoreSearchParams", `POST ${store}/search`],
    [`${stores}/files.d.ts`, "FileCreateParams", `POST ${store}/files`],
    [`${stores}/files.d.ts`, "FileListParams", `GET ${store}/files`],
    [`${stores}/files.d.ts`, "FileUpdateParams", `POST ${store}/files/{file_id}`],
    [`${stores}/file-batches.d.ts`, "FileBatchCreateParams", `POST ${store}/file_batches`],
    [
      `${stores}/file-batches.d.ts`,
      "FileBatchListFilesParams",
      `GET ${store}/file_batches/{batch_id}/files`,
    ],
  ])("%s: %s", async (path, type, operation) => {
    const types = await read(path);
    const [, body] =
      new RegExp(`^export interface ${type}[^{]*\\{\\n(.*?)^\\}`, "ms").exec(types) ?? [];
    const fields = [...(body ?? "").matchAll(/^ {4}(\w+)\??:/gm)].map(([, field = ""]) => field);
    const inPath = ["vector_store_id"];
    const listed = rows.filter((each) => each.operation === operation).map(({ field }) => field);
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter((field) => !listed.includes(field) && !inPath.includes(field))).toEqual(
      [],
    );
  });
});
