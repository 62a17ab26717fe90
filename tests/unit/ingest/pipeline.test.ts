import { describe, expect, test } from "bun:test";
import type { EmbeddingInput } from "../../../src/core/ports/embedding-engine.ts";
import type { PassageRepository } from "../../../src/core/ports/passage-repository.ts";
import type { Progress } from "../../../src/core/progress.ts";
import {
  type CutDocuments,
  cutDocuments,
  type SourceDocument,
} from "../../../src/ingest/passages.ts";
import { type IngestOptions, type IngestSummary, ingest } from "../../../src/ingest/pipeline.ts";
import { collect } from "../../support/collect.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { ScriptedEmbeddingEngine } from "../../support/scripted-engines.ts";
import { silentProgress } from "../../support/silence.ts";
import { memoryRepository } from "../../support/test-models.ts";

const open = () => memoryRepository(2);

const documentOf = (name: string, text: string): SourceDocument => {
  const bytes = new TextEncoder().encode(text);
  return { name, origin: "test", bytes: bytes.length, read: async () => bytes };
};

const store = (
  repository: PassageRepository,
  documents: Record<string, string>,
  options: Partial<IngestOptions> = {},
): Promise<IngestSummary> =>
  ingest(
    Object.entries(documents).map(([name, text]) => documentOf(name, text)),
    {
      engine: new ScriptedEmbeddingEngine(),
      repository,
      documentPrefix: "",
      progress: silentProgress,
      signal: new AbortController().signal,
      onProblem: (document, reason) => {
        throw new Error(`${document}: ${reason}`);
      },
      ...options,
    },
  );

async function stored(repository: PassageRepository) {
  const passages = await collect(repository.passages());
  return passages
    .map(({ id, document, source, position }) => ({ id, document, source, position }))
    .sort((a, b) => a.document.localeCompare(b.document) || a.position - b.position);
}

const sources = async (repository: PassageRepository): Promise<string[][]> =>
  (await stored(repository)).map(({ document, source }) => [document, source]);

/** As many passages as it is given: none shares its heading with the next. */
const pages = (...texts: string[]): string =>
  texts.map((text, index) => `# H${index}\n\n${text}\n`).join("\n");

const uuid = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
);

const nothing: IngestSummary = {
  added: [],
  changed: [],
  unchanged: [],
  empty: [],
  failed: [],
  embedded: 0,
  reused: 0,
  unreadable: 0,
};

describe("ingesting", () => {
  test("stores the passages of every document under ids of their own", async () => {
    await using repository = open();
    const summary = await store(repository, {
      "a.md": pages("one", "two"),
      "b.md": pages("one"),
      "empty.md": "\n",
    });
    expect(summary).toEqual({
      ...nothing,
      added: ["a.md", "b.md"],
      empty: ["empty.md"],
      embedded: 3,
    });
    const found = await stored(repository);
    expect(found).toEqual([
      { id: uuid, document: "a.md", source: "H0\n\none", position: 0 },
      { id: uuid, document: "a.md", source: "H1\n\ntwo", position: 1 },
      { id: uuid, document: "b.md", source: "H0\n\none", position: 0 },
    ]);
    expect(new Set(found.map(({ id }) => id)).size).toBe(3);
  });

  test("keeps of each passage its document, heading, place and digest", async () => {
    await using repository = open();
    await store(repository, { "a.md": "# A\n\n## B\n\ntext" });
    expect(await collect(repository.passages())).toMatchObject([
      {
        document: "a.md",
        heading: "A > B",
        position: 0,
        parts: 1,
        hash: expect.stringMatching(/^[0-9a-f]{32}$/),
        documentHash: expect.stringMatching(/^test:[0-9a-f]{32}$/),
      },
    ]);
  });

  test("embeds nothing of a document that is as it was", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    const documents = { "a.md": pages("one", "two") };
    await store(repository, documents);
    const before = await stored(repository);
    const summary = await store(repository, documents, { engine });
    expect(summary).toEqual({ ...nothing, unchanged: ["a.md"] });
    expect(engine.requests).toEqual([]);
    expect(await stored(repository)).toEqual(before);
  });

  test("replaces exactly the passages that changed, and embeds only those", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    await store(repository, { "a.md": pages("one", "two", "three"), "b.md": pages("kept") });
    const before = await stored(repository);
    const summary = await store(repository, { "a.md": pages("new", "two") }, { engine });
    expect(summary).toEqual({ ...nothing, changed: ["a.md"], embedded: 1, reused: 1 });
    expect(engine.requests).toEqual(["H0\n\nnew"]);
    expect(await sources(repository)).toEqual([
      ["a.md", "H0\n\nnew"],
      ["a.md", "H1\n\ntwo"],
      ["b.md", "H0\n\nkept"],
    ]);
    const after = await stored(repository);
    expect(after[1]?.id).toBe(before[1]?.id ?? "");
  });

  test("removes the passages of a document that lost its text", async () => {
    await using repository = open();
    await store(repository, { "a.md": pages("one") });
    expect(await store(repository, { "a.md": "\n" })).toEqual({ ...nothing, empty: ["a.md"] });
    expect(await repository.count()).toBe(0);
  });

  test("tells the same text in one document apart", async () => {
    await using repository = open();
    await store(repository, { "a.csv": "text\nsame\nsame\nother\n" });
    expect(await sources(repository)).toEqual([
      ["a.csv", "same"],
      ["a.csv", "same"],
      ["a.csv", "other"],
    ]);
  });

  test("puts the collection's prefix before what is embedded, not into what is stored", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    await store(repository, { "a.md": "text" }, { engine, documentPrefix: "passage: " });
    expect(engine.requests).toEqual(["passage: text"]);
    expect(await sources(repository)).toEqual([["a.md", "text"]]);
    const again = await store(repository, { "a.md": "text" }, { documentPrefix: "" });
    expect(again).toEqual({ ...nothing, changed: ["a.md"], embedded: 1 });
  });

  test("reports a document that it cannot read, keeps what it had, and goes on", async () => {
    await using repository = open();
    await store(repository, { "b.jsonl": '{"text":"old"}' });
    const problems: string[][] = [];
    const summary = await store(
      repository,
      { "a.md": "good", "b.jsonl": "not JSON", "c.xyz": "what" },
      { onProblem: (document, reason) => problems.push([document, reason]) },
    );
    expect(summary).toEqual({
      ...nothing,
      added: ["a.md"],
      failed: ["b.jsonl", "c.xyz"],
      embedded: 1,
    });
    expect(problems.map(([document]) => document)).toEqual(["b.jsonl", "c.xyz"]);
    expect(await sources(repository)).toEqual([
      ["a.md", "good"],
      ["b.jsonl", "old"],
    ]);
  });

  test("reports a file that cannot be opened like one that cannot be read", async () => {
    await using repository = open();
    const problems: string[][] = [];
    const refused = { ...documentOf("a.md", "x"), read: () => Promise.reject(new Error("EACCES")) };
    const summary = await ingest([refused, documentOf("b.md", "good")], {
      engine: new ScriptedEmbeddingEngine(),
      repository,
      documentPrefix: "",
      progress: silentProgress,
      signal: new AbortController().signal,
      onProblem: (document, reason) => problems.push([document, reason]),
    });
    expect(summary).toMatchObject({ added: ["b.md"], failed: ["a.md"] });
    expect(problems).toEqual([["a.md", "It cannot be read: EACCES."]]);
  });

  test("does nothing in a dry run, and says what it would do", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    await store(repository, { "a.md": pages("one", "two") });
    const before = await stored(repository);
    const documents = { "a.md": pages("one", "new"), "b.md": "more" };
    const summary = await store(repository, documents, { engine, dryRun: true });
    const expected = { changed: ["a.md"], added: ["b.md"], embedded: 2, reused: 1 };
    expect(summary).toEqual({ ...nothing, ...expected });
    expect(engine.requests).toEqual([]);
    expect(await stored(repository)).toEqual(before);
  });

  test("keeps what was there when the new text cannot be embedded", async () => {
    await using repository = open();
    await store(repository, { "a.md": pages("old") });
    const before = await stored(repository);
    const again = store(repository, { "a.md": pages("new") }, { engine: new FailingEngine(0) });
    expect(await rejectionOf(again)).toMatchObject({ message: "the engine failed" });
    expect(await stored(repository)).toEqual(before);
  });

  test("goes on where it was broken off, without embedding twice what is stored", async () => {
    await using repository = open();
    const texts = Array.from({ length: 200 }, (_, index) => `text ${index}`);
    const documents = { "a.md": pages(...texts) };
    await rejectionOf(store(repository, documents, { engine: new FailingEngine(100) }));
    const kept = await repository.count();
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(200);
    const keptThen: number[] = [];
    const onEmbedded = async () => void keptThen.push(await repository.count());
    const summary = await store(repository, documents, { onEmbedded });
    expect(summary).toEqual({
      ...nothing,
      changed: ["a.md"],
      embedded: 200 - kept,
      reused: kept,
    });
    expect(keptThen).not.toBeEmpty();
    // Not before more is stored than was before.
    expect(Math.min(...keptThen)).toBeGreaterThan(kept);
    expect(await repository.count()).toBe(200);
    expect(await store(repository, documents)).toEqual({ ...nothing, unchanged: ["a.md"] });
  });

  test("gives every passage its own vector, over many batches", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    const texts = Array.from({ length: 100 }, (_, index) => "x".repeat(index + 1));
    await store(repository, { "a.md": pages(...texts), "b.md": pages(...texts) }, { engine });
    const found = await collect(repository.passages());
    expect(found).toHaveLength(200);
    for (const { source, vector } of found) {
      const [embedding] = await engine.embed([source]);
      expect(vector).toEqual(embedding?.vector ?? new Float32Array(0));
    }
  });

  test("cuts no passage longer than the engine takes, its prefix included", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    const documentPrefix = "put before ";
    await store(repository, { "a.md": "word ".repeat(50) }, { engine, documentPrefix });
    const lengths = await engine.countTokens(engine.requests);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(engine.maxTokens);
    expect(lengths.reduce((sum, length) => sum + length - 2, 0)).toBe(50);
  });

  test("makes the passages of a document batch by batch, however many it has", async () => {
    await using repository = open();
    const engine = new ScriptedEmbeddingEngine();
    /** For each passage, how many had been embedded when it was made. */
    const embeddedBefore: number[] = [];
    const chunks = Array.from({ length: 1000 }, (_, at) => ({
      source: `text ${at}`,
      get heading() {
        embeddedBefore.push(engine.requests.length);
        return "";
      },
    }));
    await store(repository, { "a.md": "text" }, { engine, cut: async () => [chunks] });
    expect(await repository.count()).toBe(1000);
    expect(embeddedBefore).toHaveLength(1000);
    const ahead = embeddedBefore.map((embedded, at) => at - embedded);
    expect(Math.max(...ahead)).toBeLessThanOrEqual(128);
  });

  test("reads small documents together, and a large one alone", async () => {
    await using repository = open();
    const together: number[] = [];
    const cut: CutDocuments = async (documents, ...rest) => {
      together.push(documents.length);
      return await cutDocuments(documents, ...rest);
    };
    const small = Array.from({ length: 100 }, (_, at): [string, string] => [
      `${at}.md`,
      `no. ${at}`,
    ]);
    const documents = { ...Object.fromEntries(small), large: "word ".repeat(50_000) };
    const { added, failed } = await store(repository, documents, { cut, onProblem: () => {} });
    expect([added.length, failed]).toEqual([100, ["large"]]);
    expect(together).toEqual([64, 36, 1]);
  });

  test("lets others be answered between batches that are stored again as they are", async () => {
    await using repository = open();
    const chunks = Array.from({ length: 1000 }, (_, at) => ({ source: `text ${at}`, heading: "" }));
    const again = { always: true, cut: async () => [chunks] };
    await store(repository, { "a.md": "text" }, again);
    let turns = 0;
    const tick = (): void => {
      turns += 1;
      ticking = setImmediate(tick);
    };
    let ticking = setImmediate(tick);
    const turnsSeen = new Set<number>();
    const upsert = repository.upsert.bind(repository);
    repository.upsert = async (passages) => {
      turnsSeen.add(turns);
      await upsert(passages);
    };
    const summary = await store(repository, { "a.md": "text" }, again);
    clearImmediate(ticking);
    expect(summary).toMatchObject({ embedded: 0, reused: 1000 });
    expect(turnsSeen.size).toBeGreaterThan(10);
  });

  test("stops between documents when it is asked to", async () => {
    await using repository = open();
    const stop = new AbortController();
    stop.abort(new Error("stopped"));
    const stopped = store(repository, { "a.md": "text" }, { signal: stop.signal });
    expect(await rejectionOf(stopped)).toMatchObject({ message: "stopped" });
    expect(await repository.count()).toBe(0);
  });

  test("shows how far it is, and how many passages it made", async () => {
    await using repository = open();
    const said: unknown[] = [];
    const progress: Progress = {
      step(...announced) {
        said.push(announced);
        return {
          update: (done, note) => said.push([Math.round(done), note?.replace(/, .*/, "")]),
          finish: (note) => said.push(note),
        };
      },
    };
    const text = pages(...Array.from({ length: 100 }, (_, index) => `t${index}`));
    await store(repository, { "a.md": text, "b.md": pages("one") }, { progress });
    const total = text.length + pages("one").length;
    expect(said).toEqual([
      ["Storing passages", total, "bytes"],
      [Math.round(text.length * 0.64), "64 passages"],
      [total, "101 passages"],
      "101 passages of 2 documents",
    ]);
  });
});

/** Fails once it has embedded so many texts. */
class FailingEngine extends ScriptedEmbeddingEngine {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override async embed(inputs: readonly EmbeddingInput[]) {
    if (this.requests.length + inputs.length > this.#most) throw new Error("the engine failed");
    return await super.embed(inputs);
  }
}
