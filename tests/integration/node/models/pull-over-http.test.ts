import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Ollama } from "ollama";
import { hubFrom } from "../../../../src/models/sources/hub-reference.ts";
import { PaddockNode } from "../../../../src/node/paddock-node.ts";
import { createApp } from "../../../../src/server/app.ts";
import { bareNodeOptions } from "../../../support/bare-node.ts";
import { decodeError } from "../../../support/decode.ts";
import { type Answer, type Asked, honest, modelServer } from "../../../support/model-server.ts";
import { readFrames } from "../../../support/sse.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { tinyModels } from "../../../support/tiny-models.ts";
import { waitFor } from "../../../support/wait-for.ts";

let resources: AsyncDisposableStack;
let dataDir: string;
let app: ReturnType<typeof createApp>;
/** What the hub answers when it is asked for the file. */
let answer: (asked: Asked) => Answer;
let whole: Uint8Array;

beforeEach(async () => {
  resources = new AsyncDisposableStack();
  dataDir = resources.use(await tempDir()).path;
  whole = await Bun.file((await tinyModels()).chat).bytes();
  answer = honest(whole);
  const hub = resources.use(await modelServer((asked) => answer(asked)));
  const options = bareNodeOptions({
    toml: `[models_folder]\nserve = "all"\npull_from = ["hf:", "npm:", "https://models.invalid/"]\n[[models]]\nname = "own"\ntype = "chat"\nsource = "hf:owner/own/own.gguf"`,
    env: { PADDOCK_DATA_DIR: dataDir, PADDOCK_ISOLATION: "process" },
  });
  const node = resources.use(
    await PaddockNode.create({ ...options, hub: hubFrom({ HF_ENDPOINT: hub.url }) }),
  );
  app = createApp(node.services);
});
afterEach(() => resources.disposeAsync());

const post = (path: string, body: object = {}, signal?: AbortSignal): Promise<Response> =>
  app.handle(
    new Request(`http://localhost/v1/models${path}`, {
      ...{ method: "POST", body: JSON.stringify(body), signal: signal ?? null },
      headers: { "content-type": "application/json" },
    }),
  );

const pull = (source: string, signal?: AbortSignal): Promise<Response> =>
  post("/pull", { source }, signal);

const listed = async (): Promise<unknown> =>
  await (await app.handle(new Request("http://localhost/v1/models"))).json();

/** Half of the file, and then nothing until the client leaves. */
const half = (asked: Asked): Answer => {
  const { body, ...rest } = honest(whole)(asked);
  if (!(body instanceof Uint8Array)) return { ...rest };
  const headers = { ...rest.headers, "content-length": String(body.length) };
  return { ...rest, headers, body: body.slice(0, whole.length / 2), ending: "stall" };
};

describe("a pull over HTTP", () => {
  test("tells its progress, and serves the model at its end", async () => {
    const events = await readFrames(await pull("hf:owner/repo/tiny.gguf"));
    expect(events.slice(-2)).toEqual(['{"status":"success","model":"tiny"}', "[DONE]"]);
    expect(JSON.parse(events[0] ?? "")).toMatchObject({
      ...{ status: "pulling", source: "hf:owner/repo/tiny.gguf" },
    });
    expect(await listed()).toMatchObject({
      data: [{ id: "tiny", type: "chat", loaded: false, removable: true }],
    });
    // What is there already is not fetched again, and has the same name.
    const again = await readFrames(await pull("hf:owner/repo/tiny.gguf"));
    expect(again.at(-2)).toBe('{"status":"success","model":"tiny"}');
  });

  test("tells nobody a key that is in its address", async () => {
    const frames = await readFrames(await pull("https://models.invalid/a.gguf?signature=secret"));
    expect(frames[0]).toContain('"source":"https://models.invalid/a.gguf"');
    expect(frames.join()).not.toContain("secret");
  });

  test("is the only one until it ends, and goes on from where its client left", async () => {
    answer = half;
    const source = "hf:owner/repo/tiny.gguf";
    const client = new AbortController();
    const first = await pull(source, client.signal);
    await waitFor("half of it", async () =>
      JSON.stringify(await listed()).includes(`"completed":${whole.length / 2}`),
    );
    expect(await listed()).toMatchObject({
      pulling: { source, completed: whole.length / 2, total: whole.length },
    });
    const second = await pull("hf:owner/repo/other.gguf");
    expect([second.status, (await decodeError(second)).message]).toEqual([
      503,
      expect.stringContaining("one at a time"),
    ]);
    client.abort();
    await first.body?.cancel();
    await waitFor("its end", async () => !JSON.stringify(await listed()).includes("pulling"));
    const ranges: (string | undefined)[] = [];
    answer = (asked) => {
      ranges.push(asked.headers.range);
      return honest(whole)(asked);
    };
    const events = await readFrames(await pull(source));
    expect(events.at(-2)).toBe('{"status":"success","model":"tiny"}');
    expect(ranges).toContain(`bytes=${whole.length / 2}-`);
  });

  test("ends when it is cancelled, with a reason", async () => {
    answer = half;
    const pulling = await pull("hf:owner/repo/tiny.gguf");
    expect(await (await post("/pull/cancel")).json()).toEqual({ cancelled: true });
    const events = await readFrames(pulling);
    expect(events.at(-1)).toContain("The pull was cancelled. Pulling it again goes on from here.");
    expect(await (await post("/pull/cancel")).json()).toEqual({ cancelled: false });
  });

  test.each([
    ["file:///etc/passwd", "a source must begin with 'hf:' or 'npm:'"],
    ["/etc/passwd", "a source must begin with 'hf:' or 'npm:'"],
    ["http://127.0.0.1/m.gguf", "a source must begin with 'hf:' or 'npm:'"],
    ["https://models.example/m.gguf", "a source must begin with 'hf:' or 'npm:'"],
    ["starter:chat", "a source must begin with 'hf:' or 'npm:'"],
  ])("does not come from %s", async (source, why) => {
    const response = await pull(source);
    const { message, param } = await decodeError(response);
    expect([response.status, message, param]).toEqual([
      400,
      expect.stringContaining(why),
      "source",
    ]);
    expect(await readdir(join(dataDir, "models")).catch(() => [])).toEqual([]);
  });

  test.each([
    ["that is no model", () => Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(100, 255)]), ""],
    [
      "of which the hub has only a part",
      () => whole.slice(0, -123),
      "cut off: 123 bytes are missing",
    ],
  ])("does not succeed with a file %s", async (_, bytes, why) => {
    answer = honest(bytes());
    const events = await readFrames(await pull("hf:owner/repo/tiny.gguf"));
    expect(events.at(-1)).toContain(`${why}. It must be a whole GGUF file.`);
    expect(events.at(-1)).toContain("until the model 'tiny' is deleted");
    const remove = () =>
      app.handle(new Request("http://localhost/v1/models/tiny", { method: "DELETE" }));
    expect((await remove()).status).toBe(200);
    expect(await readdir(join(dataDir, "models"))).toEqual(["digests.json"]);
    expect((await remove()).status).toBe(404);
  });

  test("leaves nothing where nothing came", async () => {
    answer = (asked) => (asked.method === "HEAD" ? honest(whole)(asked) : { status: 404 });
    const refused = await post("/pull", { source: "hf:owner/repo/tiny.gguf", stream: false });
    expect(refused.status).toBe(503);
    expect(await readdir(join(dataDir, "models"))).toEqual([]);
  });

  test.each([
    `hf:owner/repo/${"a".repeat(250)}.gguf`,
    `npm:some-model@1.0.0/${"a".repeat(250)}.gguf`,
  ])("is rejected where a file could not have its name: %s", async (source) => {
    const refused = await post("/pull", { source, stream: false });
    expect([refused.status, await decodeError(refused)]).toMatchObject([
      400,
      { param: "source", message: expect.stringContaining("too long") },
    ]);
  });

  test("is what Ollama's package asks for, which can delete the model too", async () => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
    resources.defer(() => server.stop(true));
    const client = new Ollama({ host: server.url.origin });
    const pulling = await client.pull({ model: "hf.co/owner/repo/tiny.gguf", stream: true });
    const states = await Array.fromAsync(pulling);
    expect(states.at(-1)).toEqual(expect.objectContaining({ status: "success" }));
    const names = async () => (await client.list()).models.map(({ name }) => name);
    expect(await names()).toEqual(["tiny:latest"]);
    expect((await client.ps()).models).toEqual([]);
    const shown = await client.show({ model: "hf.co/owner/repo/tiny.gguf" });
    expect(shown.capabilities).toContain("completion");
    await client.delete({ model: "tiny" });
    expect(await names()).toEqual([]);
    expect(await Array.fromAsync(new Bun.Glob("*.gguf*").scan(join(dataDir, "models")))).toEqual(
      [],
    );
  });

  test("of a section's file has the section's name, which is not removed", async () => {
    const events = await readFrames(await pull("hf:owner/own/own.gguf"));
    expect(events.at(-2)).toBe('{"status":"success","model":"own"}');
    const request = new Request("http://localhost/v1/models/own", { method: "DELETE" });
    const refused = await app.handle(request);
    expect([refused.status, (await decodeError(refused)).message]).toEqual([
      400,
      expect.stringContaining("[[models]] section"),
    ]);
    expect((await readdir(join(dataDir, "models"))).join()).toContain("own.gguf");
  });
});

test("a source that the configuration allows is still none in the node's own network", async () => {
  await using node = await PaddockNode.create(
    bareNodeOptions({
      toml: '[models_folder]\npull_from = ["https://127.0.0.1/", "https://10.0.0.8/"]',
      env: { PADDOCK_DATA_DIR: dataDir, PADDOCK_ISOLATION: "process" },
    }),
  );
  const { signal } = new AbortController();
  for (const source of ["https://127.0.0.1/m.gguf", "https://10.0.0.8/m.gguf"]) {
    const pulled = node.services.library.pull(source, { signal });
    expect(pulled).rejects.toThrow("is an address in the node's own network");
  }
  const elsewhere = node.services.library.pull("https://127.0.0.1.example.org/m.gguf", { signal });
  expect(elsewhere).rejects.toThrow("must begin with");
});
