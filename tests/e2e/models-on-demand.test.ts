import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ChatCompletion } from "../../src/server/operations/chat/schema.ts";
import { ModelList } from "../../src/server/operations/models/schema.ts";
import { decode } from "../support/decode.ts";
import { honest, modelServer } from "../support/model-server.ts";
import { runPaddock, servePaddock } from "../support/paddock-process.ts";
import { tempDir } from "../support/temp-dir.ts";
import { tinyModels } from "../support/tiny-models.ts";

test("a pulled model answers without an edit or a restart, and makes room for the next", async () => {
  const bytes = await Bun.file((await tinyModels()).chat).bytes();
  await using hub = await modelServer(honest(bytes));
  await using folder = await tempDir();
  const options = { cwd: folder.path, env: { HF_ENDPOINT: hub.url } };
  const pull = (name: string) => runPaddock(["pull", `hf:owner/repo/${name}.gguf`], options);

  const first = await pull("first");
  expect([first.code, first.stderr]).toEqual([
    0,
    expect.stringContaining("'paddock serve' serves it as 'first'"),
  ]);
  // Memory for the embedding model, estimated at 38 MB, and for one of the tiny chat models, at 6.
  const config = "[vectorstore]\nhandbook = false\n[engine]\nmemory_limit = 48\nthreads = 1\n";
  await writeFile(join(folder.path, "paddock.toml"), config);
  await using node = await servePaddock(options);
  const send = (path: string, body: object): Promise<Response> =>
    fetch(`${node.origin}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const messages = [{ role: "user", content: "Hi" }];
  const to = (model: string) => ({ model, messages, max_tokens: 3 });
  const list = async () => (await decode(ModelList, await fetch(`${node.origin}/v1/models`))).data;

  // It takes the place of the starter model.
  expect((await list()).map(({ id, loaded }) => ({ id, loaded }))).toEqual([
    { id: "first", loaded: false },
    { id: "all-MiniLM-L6-v2", loaded: true },
  ]);
  expect(node.stdout()).toContain('"model":"first"');
  const chat = await send("/v1/chat/completions", to("first"));
  expect((await decode(ChatCompletion, chat)).choices).toHaveLength(1);
  const ollama = await send("/api/chat", {
    ...{ model: "first:latest", messages, stream: false, options: { num_predict: 3 } },
  });
  expect(await ollama.json()).toMatchObject({ model: "first:latest", done: true, eval_count: 3 });

  const second = await pull("second");
  expect(second.stderr).toContain(`The node at ${node.origin} serves it now as 'second'.`);
  // The embedding model was used last, so it stays.
  const embed = () => send("/v1/embeddings", { model: "all-MiniLM-L6-v2", input: "Hi" });
  for (const [model, loaded] of [
    ["second", ["all-MiniLM-L6-v2", "second"]],
    ["first", ["all-MiniLM-L6-v2", "first"]],
  ] as const) {
    expect((await embed()).status).toBe(200);
    expect((await send("/v1/chat/completions", to(model))).status).toBe(200);
    const inMemory = (await list()).filter((one) => one.loaded).map(({ id }) => id);
    expect(inMemory.sort()).toEqual([...loaded]);
  }
  const run = await runPaddock(["run", "second", "Hi"], options);
  expect([run.code, run.stdout.endsWith("\n")]).toEqual([0, true]);
  // A model that is there is not looked for again.
  const asked = hub.asked.length;
  const again = await runPaddock(["run", "hf:owner/repo/first.gguf", "Hi"], options);
  expect([again.code, hub.asked.length]).toEqual([0, asked]);
  const ps = await runPaddock(["ps", "--json"], options);
  expect(JSON.parse(ps.stdout)).toContainEqual(
    expect.objectContaining({ id: "first", loaded: true }),
  );
});
