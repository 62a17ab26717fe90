import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { FileObject } from "../../src/server/operations/files/schema.ts";
import { pageSchema } from "../../src/server/wire/page-schema.ts";
import { decode, decodeError } from "../support/decode.ts";
import { documentsClient } from "../support/documents-client.ts";
import { type TempDir, tempDir } from "../support/temp-dir.ts";
import { type TestApp, type TestAppOptions, testApp } from "../support/test-app.ts";

let folder: TempDir;
beforeAll(async () => {
  folder = await tempDir();
});
afterAll(async () => await folder[Symbol.asyncDispose]());

let apps = 0;

/** An app with files of its own, and where they are. */
function appWithFiles(options: TestAppOptions = {}): { app: TestApp; place: string } {
  const place = join(folder.path, `${apps++}`);
  const app = testApp({ ...options, documents: { ...options.documents, folder: place } });
  return { app, place };
}

const kept = (place: string): Promise<string[]> =>
  readdir(join(place, "files")).catch((): string[] => []);

function form(fields: Record<string, string>, content?: Blob, name = "notes.md"): FormData {
  const made = new FormData();
  // As openai's package sends it: the file first.
  if (content !== undefined) made.append("file", content, name);
  for (const [field, value] of Object.entries(fields)) made.append(field, value);
  return made;
}

const post = (
  app: TestApp,
  body: NonNullable<RequestInit["body"]>,
  headers: Record<string, string> = {},
) => app.handle(new Request("http://localhost/v1/files", { method: "POST", body, headers }));

const upload = async (app: TestApp, text: string, name?: string): Promise<FileObject> =>
  await decode(
    FileObject,
    await post(app, form({ purpose: "assistants" }, new Blob([text]), name)),
  );

const remove = (app: TestApp, id: string): Promise<Response> =>
  app.handle(new Request(`http://localhost/v1/files/${id}`, { method: "DELETE" }));

describe("an uploaded file", () => {
  test("is described by its name, size and digest, and is given back as it came", async () => {
    const { app } = appWithFiles();
    const text = "# Notes\n\nLlamas hum. ü";
    const file = await upload(app, text, "Notizen über Lamas.md");
    expect(file).toEqual({
      id: expect.stringMatching(/^file-[0-9a-f]{24}$/),
      object: "file",
      bytes: Buffer.byteLength(text),
      created_at: expect.any(Number),
      filename: "Notizen über Lamas.md",
      purpose: "assistants",
      status: "processed",
      sha256: createHash("sha256").update(text).digest("hex"),
      content_type: "text/markdown",
    });
    expect(await decode(FileObject, await app.get(`/v1/files/${file.id}`))).toEqual(file);
    const content = await app.get(`/v1/files/${file.id}/content`);
    expect(await content.text()).toBe(text);
    expect(content.headers.get("content-type")).toBe("application/octet-stream");
    expect(content.headers.get("content-disposition")).toBe(
      "attachment; filename*=UTF-8''Notizen%20%C3%BCber%20Lamas.md",
    );
    expect(content.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("is told by its content, whatever the client says", async () => {
    const { app } = appWithFiles();
    const types = await Promise.all(
      [
        ["%PDF-1.7 …", "a.txt"],
        ["\u0000\u0001\u0002", "b.md"],
        ["plain", "c.unknown"],
        ["<p>", "d.html"],
      ].map(async ([text = "", name]) => (await upload(app, text, name)).content_type),
    );
    expect(types).toEqual([
      "application/pdf",
      "application/octet-stream",
      "text/plain",
      "text/html",
    ]);
  });

  test("is gone once it is deleted, from the disk too", async () => {
    const { app, place } = appWithFiles();
    const { id } = await upload(app, "text");
    expect(await kept(place)).toEqual([id]);
    expect(await (await remove(app, id)).json()).toEqual({ id, object: "file", deleted: true });
    expect(await kept(place)).toEqual([]);
    for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
      const response = await app.get(path);
      expect(response.status).toBe(404);
      expect(await decodeError(response)).toMatchObject({ param: "file_id", code: null });
    }
    expect((await remove(app, id)).status).toBe(404);
  });

  test("is another file each time it is uploaded", async () => {
    const { app } = appWithFiles();
    const [first, second] = [await upload(app, "same"), await upload(app, "same")];
    expect(second.id).not.toBe(first.id);
    expect(second.sha256).toBe(first.sha256);
  });

  test("may say when it expires, and is gone from then on, before its bytes are deleted", async () => {
    let now = new Date("2026-11-15T12:00:00Z");
    const { app } = appWithFiles({ documents: { now: () => now } });
    const fields = {
      purpose: "user_data",
      "expires_after[anchor]": "created_at",
      "expires_after[seconds]": "3600",
    };
    const file = await decode(FileObject, await post(app, form(fields, new Blob(["text"]))));
    expect(file).toMatchObject({ purpose: "user_data", expires_at: file.created_at + 3600 });
    const { send, store: newStore } = documentsClient(app);
    const { id: store } = await newStore();
    const statuses = async () => {
      const asked = [
        () => send("GET", `/files/${file.id}`),
        () => send("GET", `/files/${file.id}/content`),
        () => send("POST", `/vector_stores/${store}/files`, { file_id: file.id }),
      ];
      return await Array.fromAsync(asked, async (ask) => (await ask()).status);
    };
    now = new Date(now.getTime() + 3_599_000);
    expect(await statuses()).toEqual([200, 200, 200]);
    now = new Date(now.getTime() + 1000);
    expect(await statuses()).toEqual([404, 404, 404]);
  });
});

describe("uploaded files", () => {
  test("are listed in pages, the newest first, and back again", async () => {
    const { app } = appWithFiles();
    const ids: string[] = [];
    for (const text of ["a", "b", "c", "d", "e"]) ids.push((await upload(app, text)).id);
    const [a = "", b = "", c = "", d = "", e = ""] = ids;
    const page = async (query: string): Promise<[(string | null)[], boolean]> => {
      const list = await decode(pageSchema(FileObject), await app.get(`/v1/files?${query}`));
      expect([list.first_id, list.last_id]).toEqual([
        list.data.at(0)?.id ?? null,
        list.data.at(-1)?.id ?? null,
      ]);
      return [list.data.map(({ id }) => id), list.has_more];
    };
    expect(await page("")).toEqual([[e, d, c, b, a], false]);
    expect(await page("limit=2")).toEqual([[e, d], true]);
    expect(await page(`limit=2&after=${d}`)).toEqual([[c, b], true]);
    expect(await page(`limit=2&after=${b}`)).toEqual([[a], false]);
    expect(await page(`limit=2&before=${b}`)).toEqual([[d, c], true]);
    expect(await page(`limit=2&before=${d}`)).toEqual([[e], false]);
    expect(await page(`limit=2&order=asc&after=${b}`)).toEqual([[c, d], true]);
    expect(await page(`limit=9&order=asc&before=${c}`)).toEqual([[a, b], false]);
    expect(await page(`after=${e}&before=${b}`)).toEqual([[d, c], false]);
    expect(await page("purpose=user_data")).toEqual([[], false]);
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=many", "limit"],
    ["order=up", "order"],
    ["after=file-nobody", "after"],
    ["limit=1&limit=2", "limit"],
  ])("are not listed with %s, which is named", async (query, param) => {
    const { app } = appWithFiles();
    await upload(app, "text");
    const response = await app.get(`/v1/files?${query}`);
    expect(response.status).toBe(400);
    expect(await decodeError(response)).toMatchObject({ param });
  });

  test("come with how large a file may be", async () => {
    const { app } = appWithFiles({ maxFileBytes: 1234 });
    const { headers } = await app.get("/v1/files?limit=1");
    expect(headers.get("x-paddock-max-file-bytes")).toBe("1234");
  });

  test("name a parameter of the address that is not acted on", async () => {
    const { app } = appWithFiles();
    const response = await app.get("/v1/files?sort=size");
    expect(response.headers.get("x-paddock-ignored")).toBe("sort");
  });
});

const text = new Blob(["text"]);
const assistants = { purpose: "assistants" };

const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n';

describe("an upload that is refused leaves nothing, and says what is wrong:", () => {
  const refusals: [
    what: string,
    body: () => NonNullable<RequestInit["body"]>,
    status: number,
    param: string | null,
  ][] = [
    ["no purpose", () => form({}, text), 400, "purpose"],
    ["a purpose that is not served", () => form({ purpose: "fine-tune" }, text), 400, "purpose"],
    ["an unknown purpose", () => form({ purpose: "fun" }, text), 400, "purpose"],
    ["no file", () => form(assistants), 400, "file"],
    ["no name", () => form(assistants, text, ""), 400, "file"],
    ["a name that is a path only", () => form(assistants, text, "a/.."), 400, "file"],
    ["a name with a line break", () => form(assistants, text, "a\u2028b.md"), 400, "file"],
    [
      "an expiry too soon",
      () =>
        form(
          { ...assistants, "expires_after[anchor]": "created_at", "expires_after[seconds]": "5" },
          text,
        ),
      400,
      "expires_after[seconds]",
    ],
    [
      "half an expiry",
      () => form({ ...assistants, "expires_after[seconds]": "3600" }, text),
      400,
      "expires_after",
    ],
    ["a file in another field", () => named("attachment"), 400, "attachment"],
    ["two files", () => twice(), 400, "file"],
    ["a file that is too large", () => form(assistants, new Blob(["x".repeat(5000)])), 413, "file"],
    ["many fields", () => form(Object.fromEntries(manyFields), text), 400, null],
    ["a field that is too long", () => form({ purpose: "x".repeat(20_000) }, text), 400, "purpose"],
  ];
  const named = (field: string): FormData => {
    const made = form(assistants);
    made.append(field, text, "a.md");
    return made;
  };
  const twice = (): FormData => {
    const made = form(assistants, text);
    made.append("file", text, "b.md");
    return made;
  };
  const manyFields = Array.from({ length: 40 }, (_, at) => [`field${at}`, "1"]);

  test.each(refusals)("%s", async (_what, body, status, param) => {
    const { app, place } = appWithFiles({ maxFileBytes: 4096 });
    const response = await post(app, body());
    expect(response.status).toBe(status);
    expect(await decodeError(response)).toMatchObject({ param });
    expect(await kept(place)).toEqual([]);
    expect((await decode(pageSchema(FileObject), await app.get("/v1/files"))).data).toEqual([]);
  });

  test("a compressed form", async () => {
    const { app } = appWithFiles();
    const headers = {
      "content-type": "multipart/form-data; boundary=b",
      "content-encoding": "gzip",
    };
    const response = await post(app, Bun.gzipSync(`${part}Llamas\r\n--b--\r\n`), headers);
    expect(response.status).toBe(415);
    expect((await decodeError(response)).message).toContain("Content-Encoding: gzip");
  });

  test.each([
    ["JSON", "{}", "application/json", 415],
    ["a form without a boundary", "x", "multipart/form-data", 415],
    ["a form with an empty boundary", "x", "multipart/form-data; boundary=", 400],
    ["no form at all", "x", "multipart/form-data; boundary=b", 400],
    ["a part without a name", "--b\r\n: x\r\n--b--\r\n", "multipart/form-data; boundary=b", 400],
    ["a part without a header", "--b\r\n\r\n--b--\r\n", "multipart/form-data; boundary=b", 400],
    [
      "a header that does not end, after a file",
      `${part}Llamas\r\n--b\r\n: x\r\n--b--\r\n`,
      "multipart/form-data; boundary=b",
      400,
    ],
    ["a form that breaks off", `${part}Llamas`, "multipart/form-data; boundary=b", 400],
  ])("%s", async (_what, body, type, status) => {
    const { app, place } = appWithFiles();
    const response = await post(app, body, { "content-type": type });
    expect([response.status, (await decodeError(response)).message]).toEqual([
      status,
      expect.any(String),
    ]);
    expect(await kept(place)).toEqual([]);
  });

  test("one that stands still", async () => {
    const { app, place } = appWithFiles({ bodyTimeoutMs: 50 });
    const begun = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(
          Buffer.from(
            '--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nLlamas',
          ),
        ),
    });
    const response = await post(app, begun, { "content-type": "multipart/form-data; boundary=b" });
    expect(response.status).toBe(408);
    expect(await kept(place)).toEqual([]);
  });

  test("one beside 64 of the same caller, whose place it has once they have ended", async () => {
    const { app } = appWithFiles();
    const ends: (() => void)[] = [];
    const still = () =>
      post(app, new ReadableStream({ start: (body) => void ends.push(() => body.close()) }), {
        "content-type": "multipart/form-data; boundary=b",
      });
    const others = Promise.all(Array.from({ length: 64 }, still));
    const refused = await post(app, form(assistants, new Blob(["x"])));
    expect(refused.status).toBe(429);
    expect((await decodeError(refused)).message).toContain("64 requests in progress at once");
    for (const end of ends) end();
    expect((await others).every(({ status }) => status === 400)).toBe(true);
    expect((await post(app, form(assistants, new Blob(["x"])))).status).toBe(200);
  });

  test("one that takes longer than a request may", async () => {
    const { app, place } = appWithFiles({ requestTimeoutMs: 50 });
    const trickle = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await Bun.sleep(5);
        controller.enqueue(Buffer.from("a"));
      },
    });
    const response = await post(app, trickle, {
      "content-type": "multipart/form-data; boundary=b",
    });
    expect(response.status).toBe(504);
    expect(await kept(place)).toEqual([]);
  });

  test("one beyond the node's quota, also where two come at once", async () => {
    const { app, place } = appWithFiles({ documents: { quota: { node: { bytes: 10_000 } } } });
    const half = () => form(assistants, new Blob(["x".repeat(6000)]));
    const statuses = await Promise.all([post(app, half()), post(app, half())]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 429]);
    const over = await post(app, half());
    expect(over.headers.get("x-should-retry")).toBe("false");
    expect(await decodeError(over)).toMatchObject({ code: "insufficient_quota" });
    expect(await kept(place)).toHaveLength(1);
  });

  test("of several at once only those that do not fit in the node's quota", async () => {
    const { app } = appWithFiles({ documents: { quota: { node: { bytes: 10_000 } } } });
    const large = () => form(assistants, new Blob(["x".repeat(6000)]));
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(app, large())));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429, 429, 429, 429]);
  });

  test("one more than the node may have files, also where two come at once", async () => {
    const { app, place } = appWithFiles({ documents: { quota: { node: { files: 2 } } } });
    const empty = () => form(assistants, new Blob([""]));
    const statuses = await Promise.all([empty(), empty(), empty()].map((body) => post(app, body)));
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    expect(await decodeError(await post(app, empty()))).toMatchObject({
      code: "insufficient_quota",
      message: expect.stringContaining("This node holds 2 files (documents.max_files)"),
    });
    const [id = ""] = await kept(place);
    expect((await remove(app, id)).status).toBe(200);
    expect((await post(app, empty())).status).toBe(200);
  });
});
