import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { suites } from "../../scripts/test/suites.ts";
import { ModelRegistry } from "../../src/core/models/model-registry.ts";
import { UploadForm } from "../../src/server/middleware/multipart.ts";
import { describe } from "../../src/server/openapi.ts";
import type { Operation } from "../../src/server/operation.ts";
import { RequestContext } from "../../src/server/request-context.ts";
import { ScriptedEmbeddingEngine } from "../support/scripted-engines.ts";
import { embeddingModel } from "../support/test-models.ts";

const noForm = new UploadForm(
  new Request("http://localhost/"),
  { signal: new AbortController().signal },
  { maxFileBytes: 0, bodyTimeoutMs: 0 },
);

const root = join(import.meta.dir, "..", "..");
const text = await Bun.file(join(root, "CONTRIBUTING.md")).text();

const paths = [...text.matchAll(/`((?:src|tests|docs|scripts|deploy|\.ci)\/[a-z0-9./-]*)`/g)];
test.each([...new Set(paths.map(([, path = ""]) => path))])("names what is there: %s", (path) => {
  expect(existsSync(join(root, path))).toBe(true);
});

const commands = [...text.matchAll(/\bbun(?:@[\d.]+)? run ([a-z:]+)/g)];
test.each([...new Set(commands.map(([, name = ""]) => name))])("names a script: %s", (name) => {
  expect(Object.keys(manifest.scripts)).toContain(name);
});

test("names every suite, and the test script runs it", () => {
  const files = [...new Bun.Glob("tests/*/**/*.test.ts").scanSync(root)];
  const folders = new Set(files.map((file) => file.split(/[\\/]/)[1]));
  expect([...folders].sort()).toEqual(Object.keys(suites).sort());
  for (const suite of folders) expect(text).toContain(`| \`tests/${suite}\` |`);
});

test("adds an operation that works as it stands", async () => {
  const folder = join(root, "src", "server", "operations", `example-${crypto.randomUUID()}`);
  const files = [...text.matchAll(/```ts\n\/\/ (\w+\.ts)\n(.*?)```/gs)];
  expect(files.map(([, name]) => name)).toEqual(["schema.ts", "handler.ts", "operation.ts"]);
  await mkdir(folder);
  try {
    for (const [, name = "", code = ""] of files) await Bun.write(join(folder, name), code);
    const { similarity }: { similarity: Operation<{ models: ModelRegistry }> } = await import(
      join(folder, "operation.ts")
    );
    expect(describe(similarity.facts)).toMatchObject({
      operationId: "compareTexts",
      security: [{ bearer: [] }, { apiKey: [] }, {}],
    });
    expect(similarity.read({ model: "vectors", texts: ["one"] }, asked)).toBeUndefined();
    const models = new ModelRegistry([{ name: "vectors", type: "embedding" }]);
    models.add(embeddingModel("vectors", new ScriptedEmbeddingEngine()));
    const read = similarity.read({ model: "vectors", texts: ["one two", "two one"] }, asked);
    expect(await read?.answer(context(), { models })).toEqual({
      json: { similarity: expect.closeTo(1) },
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

const asked = { parameters: {}, query: new URLSearchParams(), form: noForm };

const context = (): RequestContext =>
  new RequestContext({
    request: new Request("http://localhost/v1/similarity", { method: "POST" }),
    id: "example",
    target: { name: "similarity" },
    headers: {},
    access: { wantsKeys: () => false, check: () => ({ name: "anyone", called: "", limits: {} }) },
    logsPrompts: false,
    onWork: () => {},
  });
