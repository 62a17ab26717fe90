import { describe, expect, test } from "bun:test";
import type { PassageRepository } from "../../../src/core/ports/passage-repository.ts";
import type { Progress } from "../../../src/core/progress.ts";
import { type Document, ingest } from "../../../src/ingest/pipeline.ts";
import { SqliteRepository } from "../../../src/repository/sqlite/sqlite-repository.ts";
import { ScriptedEmbeddingEngine } from "../../support/scripted-engines.ts";
import { silentProgress } from "../../support/silence.ts";

const open = (): SqliteRepository =>
  SqliteRepository.open({ path: ":memory:", collection: "test", dimension: 2 });

const store = (
  repository: PassageRepository,
  documents: readonly Document[],
  { engine = new ScriptedEmbeddingEngine(), progress = silentProgress } = {},
): Promise<number> =>
  ingest(documents, { engine, repository, progress, signal: new AbortController().signal });

async function stored(repository: PassageRepository) {
  const everything = { limit: 1000, scoreThreshold: -1 };
  const passages = await repository.search(Float32Array.of(1, 0), everything);
  return passages
    .map(({ id, document, source }) => ({ id, document, source }))
    .sort((a, b) => a.document.localeCompare(b.document) || a.source.localeCompare(b.source));
}

/** As many passages as it is given: none shares its heading with the next. */
const pages = (...texts: string[]): string =>
  texts.map((text, index) => `# H${index}\n\n${text}\n`).join("\n");

const uuid = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
);

describe("ingesting", () => {
  test("stores the passages of every document under ids of their own", async () => {
    await using repository = open();
    const count = await store(repository, [
      { name: "a.md", text: pages("one", "two") },
      { name: "b.md", text: pages("one") },
      { name: "empty.md", text: "\n" },
    ]);
    const found = await stored(repository);
    expect(count).toBe(3);
    expect(found).toEqual([
      { id: uuid, document: "a.md", source: "H0\n\none" },
      { id: uuid, document: "a.md", source: "H1\n\ntwo" },
      { id: uuid, document: "b.md", source: "H0\n\none" },
    ]);
    expect(new Set(found.map(({ id }) => id)).size).toBe(3);
  });

  test("changes nothing when the same document comes again", async () => {
    await using repository = open();
    const document = { name: "a.md", text: pages("one", "two") };
    await store(repository, [document]);
    const before = await stored(repository);
    await store(repository, [document]);
    expect(await stored(repository)).toEqual(before);
  });

  test("replaces exactly the passages of a document that comes again", async () => {
    await using repository = open();
    await store(repository, [
      { name: "a.md", text: pages("one", "two", "three") },
      { name: "b.md", text: pages("kept") },
    ]);
    await store(repository, [{ name: "a.md", text: pages("new") }]);
    expect((await stored(repository)).map(({ document, source }) => [document, source])).toEqual([
      ["a.md", "H0\n\nnew"],
      ["b.md", "H0\n\nkept"],
    ]);
  });

  test("keeps what was there when the new text cannot be embedded", async () => {
    await using repository = open();
    await store(repository, [{ name: "a.md", text: pages("old") }]);
    const before = await stored(repository);
    const engine = new (class extends ScriptedEmbeddingEngine {
      override async embed(): Promise<never> {
        throw new Error("the engine failed");
      }
    })();
    const again = store(repository, [{ name: "a.md", text: pages("new") }], { engine });
    await expect(again).rejects.toThrow("the engine failed");
    expect(await stored(repository)).toEqual(before);
  });

  test("gives every passage its own vector, over many batches", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    const texts = Array.from({ length: 70 }, (_, index) => "x".repeat(index + 1));
    expect(await store(repository, [{ name: "a.md", text: pages(...texts) }], { engine })).toBe(70);
    const found = await stored(repository);
    expect(found).toHaveLength(70);
    for (const { source } of found) {
      const [embedding] = await engine.embed([source]);
      const bounds = { limit: 70, scoreThreshold: 0.999999 };
      const nearest = await repository.search(embedding?.vector ?? new Float32Array(2), bounds);
      expect(nearest.map((passage) => passage.source)).toContain(source);
    }
  });

  test("cuts no passage longer than the engine takes", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    await store(repository, [{ name: "a.md", text: "word ".repeat(50) }], { engine });
    const lengths = engine.requests.map((text) => engine.countTokens(text));
    expect(Math.max(...lengths)).toBeLessThanOrEqual(engine.maxTokens);
    expect(lengths.reduce((sum, length) => sum + length)).toBe(50);
  });

  test("shows how far it is", async () => {
    await using repository = open();
    const said: unknown[] = [];
    const progress: Progress = {
      step(...announced) {
        said.push(announced);
        return { update: (done) => said.push(done), finish: (note) => said.push(note) };
      },
    };
    const text = pages(...Array.from({ length: 40 }, (_, index) => `t${index}`));
    const documents = [
      { name: "a.md", text },
      { name: "b.md", text: pages("one") },
    ];
    await store(repository, documents, { progress });
    expect(said).toEqual([
      ["Storing passages", 41, "passages"],
      32,
      40,
      41,
      "41 passages of 2 documents",
    ]);
  });
});
